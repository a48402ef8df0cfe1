/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_attention.c - scaled_dot_product_attention in its variants: softmax(q k s + mask) v
 *
 * The backward computes the probabilities from q, k and the logsumexp that it is given: of the keys
 * of one rank alone they do not add up to 1 where attention goes round a ring. Where the logsumexp
 * is that of its own keys they are quotients, as in the forward.
 */
#include "plan/eval.h"

#include <math.h>

#include "plan/matrix.h"

enum argument {
    Q,
    K,
    V,
    CAUSAL,
    MASK,
    SCALE,
    DROPOUT,
    GRAD,
    OUT,
    LSE,
};

/* One kernel call: heads of [L, E] against [S, E] and [S, EV]. */
struct attention {
    const tc_el *q, *k, *v;
    size_t heads, l, s, e, ev;
    size_t group; /* query heads to one of keys */
    struct tc_operand mask;
    tc_el scale;
    bool is_causal;
};

static bool attention_of(struct tc_eval *e, struct attention *a, struct tc_plan_tensor *scores,
                         int64_t sizes[4])
{
    const struct tc_plan_tensor *q = tc_eval_tensor(e, Q), *k = tc_eval_tensor(e, K),
                                *v = tc_eval_tensor(e, V);

    if (!q || !k || !v || q->n_dims != 4 || k->n_dims != 4 || v->n_dims != 4 ||
        q->sizes[3] != k->sizes[3] || k->sizes[2] != v->sizes[2] || k->sizes[1] != v->sizes[1] ||
        q->sizes[0] != k->sizes[0] || q->sizes[0] != v->sizes[0] || !k->sizes[1] ||
        q->sizes[1] % k->sizes[1] || tc_eval_number(e, DROPOUT, 0) != 0) {
        tc_eval_fail(e, "sizes that do not fit, or dropout");
        return false;
    }
    *a = (struct attention){.q = tc_eval_read(e, q),
                            .k = tc_eval_read(e, k),
                            .v = tc_eval_read(e, v),
                            .heads = (size_t)(q->sizes[0] * q->sizes[1]),
                            .l = (size_t)q->sizes[2],
                            .s = (size_t)k->sizes[2],
                            .e = (size_t)q->sizes[3],
                            .ev = (size_t)v->sizes[3],
                            .group = (size_t)(q->sizes[1] / k->sizes[1]),
                            .is_causal = tc_eval_bool(e, CAUSAL, false)};
    double scale = tc_eval_number(e, SCALE, 1 / sqrt((double)q->sizes[3]));
    a->scale = tc_el_number(scale, false);
    sizes[0] = q->sizes[0], sizes[1] = q->sizes[1], sizes[2] = q->sizes[2], sizes[3] = k->sizes[2];
    *scores = (struct tc_plan_tensor){
        .n_dims = 4, .sizes = sizes, .numel = (int64_t)(a->heads * a->l * a->s)};
    if (tc_eval_tensor(e, MASK))
        a->mask = tc_eval_broadcast(e, tc_eval_tensor(e, MASK), scores);
    return !*e->failure;
}

/* The products of query i of a head become its scores. */
static void mask_row(struct tc_eval *e, const struct attention *a, size_t head, size_t i,
                     tc_el *row)
{
    const struct tc_plan_tensor *mask = tc_eval_tensor(e, MASK);

    for (size_t j = 0; j < a->s; j++) {
        tc_el x = tc_el_mul(a->scale, row[j]);
        tc_el m = mask ? a->mask.p[((head * a->l + i) * a->s + j) * a->mask.step] : TC_EL_ZERO;
        if (mask && mask->type == TC_PLAN_BOOL)
            x = tc_el_same(m, TC_EL_ZERO) ? TC_EL_MINUS : x;
        else
            x = tc_el_add(x, m);
        row[j] = a->is_causal && j > i ? TC_EL_MINUS : x;
    }
}

/* Scores become probabilities; the sum of exponentials before it is divided. lse: the log of the
 * sum that divides them, NULL: their own. */
static tc_el divide(struct tc_eval *e, const struct attention *a, tc_el *row, const tc_el *lse)
{
    struct tc_function f = tc_eval_function(e, TC_FN_EXP, 0, 0, 0);
    struct tc_function to_log = tc_eval_function(e, TC_FN_LOG, 0, 0, 0);
    tc_el sum = TC_EL_ZERO, *weights = tc_eval_new(e, a->s);

    for (size_t j = 0; j < a->s; j++) {
        weights[j] = tc_el_apply(&f, row[j]);
        sum = tc_el_add(sum, weights[j]);
    }
    if (lse && !tc_el_same(*lse, tc_el_apply(&to_log, sum))) {
        for (size_t j = 0; j < a->s; j++)
            row[j] = tc_el_apply(&f, tc_el_sub(row[j], *lse));
        return sum;
    }
    tc_el inverse = tc_el_same(sum, TC_EL_ZERO) ? TC_EL_ZERO : tc_el_inv(sum);
    for (size_t j = 0; j < a->s; j++)
        row[j] = tc_el_mul(weights[j], inverse);
    return sum;
}

/* Rows of probabilities of all queries of a head, and for each the sum of its exponentials. lse:
 * of each query, or NULL. */
static void probabilities(struct tc_eval *e, const struct attention *a, size_t head, tc_el *rows,
                          tc_el *sums, const tc_el *lse)
{
    struct tc_matrix q = tc_matrix_of(a->q + head * a->l * a->e, a->l, a->e);
    struct tc_matrix k = tc_matrix_of(a->k + head / a->group * a->s * a->e, a->s, a->e);

    tc_matrix_multiply(q, tc_matrix_turned(k), rows, e->scratch);
    for (size_t i = 0; i < a->l; i++) {
        struct tc_arena_mark mark = tc_arena_mark(e->scratch);
        mask_row(e, a, head, i, rows + i * a->s);
        sums[i] = divide(e, a, rows + i * a->s, lse ? lse + i : NULL);
        tc_arena_rewind(e->scratch, mark);
    }
}

/* Outputs: the result and, per query, log of the sum. */
static void run_attention(struct tc_eval *e)
{
    struct tc_function to_log = tc_eval_function(e, TC_FN_LOG, 0, 0, 0);
    struct tc_plan_tensor scores;
    int64_t sizes[4];
    struct attention a;

    if (!attention_of(e, &a, &scores, sizes))
        return;
    size_t n = a.heads * a.l;
    tc_el *to = tc_eval_new(e, n * a.ev), *logs = tc_eval_new(e, n),
          *rows = tc_eval_new(e, a.l * a.s);
    for (size_t head = 0; head < a.heads; head++) {
        probabilities(e, &a, head, rows, logs + head * a.l, NULL);
        tc_matrix_multiply(tc_matrix_of(rows, a.l, a.s),
                           tc_matrix_of(a.v + head / a.group * a.s * a.ev, a.s, a.ev),
                           to + head * a.l * a.ev, e->scratch);
    }
    for (size_t r = 0; r < n; r++)
        logs[r] = tc_el_apply(&to_log, logs[r]);
    tc_eval_write(e, 0, to, n * a.ev);
    const struct tc_plan_tensor *kept = tc_eval_out(e, 1);
    if (kept && (size_t)kept->numel == n)
        tc_eval_write(e, 1, logs, n);
}

static void add_to(tc_el *to, const tc_el *x, tc_el by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = tc_el_add(to[i], tc_el_mul(by, x[i]));
}

/* What the forward kept: a value for each of n elements, or NULL. Some kernels keep other sizes. */
static const tc_el *kept(struct tc_eval *e, enum argument which, size_t n)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, which);
    const tc_el *p = t && (size_t)t->numel == n ? tc_eval_read(e, t) : NULL;

    return p && n && !tc_el_is_undefined(p[0]) ? p : NULL;
}

/* With p the probabilities and d = g v: p * (d - sum(g * out)) is the gradient of the scores. */
static void run_attention_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *grad = tc_eval_tensor(e, GRAD);
    struct tc_plan_tensor scores;
    int64_t sizes[4];
    struct attention a;

    if (!attention_of(e, &a, &scores, sizes))
        return;
    size_t n = a.heads * a.l, key_heads = a.heads / a.group;
    if (!grad || (size_t)grad->numel != n * a.ev) {
        tc_eval_fail(e, "a gradient of another size");
        return;
    }
    const tc_el *g = tc_eval_read(e, grad), *out = kept(e, OUT, n * a.ev), *lse = kept(e, LSE, n);
    tc_el *dq = tc_eval_zeros(e, n * a.e), *dk = tc_eval_zeros(e, key_heads * a.s * a.e),
          *dv = tc_eval_zeros(e, key_heads * a.s * a.ev), *rows = tc_eval_new(e, a.l * a.s),
          *sums = tc_eval_new(e, a.l), *d = tc_eval_new(e, a.s);
    for (size_t r = 0; r < n; r++) {
        size_t head = r / a.l, from = head / a.group;
        const tc_el *p = rows + r % a.l * a.s;
        if (r % a.l == 0)
            probabilities(e, &a, head, rows, sums, lse ? lse + r : NULL);
        for (size_t j = 0; j < a.s; j++) {
            d[j] = tc_el_dot(g + r * a.ev, 1, a.v + (from * a.s + j) * a.ev, 1, a.ev);
            add_to(dv + (from * a.s + j) * a.ev, g + r * a.ev, p[j], a.ev);
        }
        tc_el sum =
            out ? tc_el_dot(g + r * a.ev, 1, out + r * a.ev, 1, a.ev) : tc_el_dot(d, 1, p, 1, a.s);
        for (size_t j = 0; j < a.s; j++) {
            tc_el x = tc_el_mul(a.scale, tc_el_mul(p[j], tc_el_sub(d[j], sum)));
            add_to(dq + r * a.e, a.k + (from * a.s + j) * a.e, x, a.e);
            add_to(dk + (from * a.s + j) * a.e, a.q + r * a.e, x, a.e);
        }
    }
    tc_eval_write(e, 0, dq, n * a.e);
    tc_eval_write(e, 1, dk, key_heads * a.s * a.e);
    tc_eval_write(e, 2, dv, key_heads * a.s * a.ev);
}

#define ARGS                                                         \
    "query key value is_causal attn_mask|attn_bias scale dropout_p " \
    "grad_out|grad_out_|grad_output out logsumexp"

#define FORWARD(kernel)                                                              \
    {                                                                                \
        "aten._scaled_dot_product_" kernel, ARGS, run_attention, TC_RULE_PLAIN, 0, 0 \
    }
#define BACKWARD(kernel)                                                              \
    {                                                                                 \
        "aten._scaled_dot_product_" kernel "_backward", ARGS, run_attention_backward, \
            TC_RULE_PLAIN, 0, 0                                                       \
    }

const struct tc_rule tc_rules_attention[] = {
    FORWARD("flash_attention_for_cpu"),
    BACKWARD("flash_attention_for_cpu"),
    FORWARD("flash_attention"),
    BACKWARD("flash_attention"),
    FORWARD("efficient_attention"),
    BACKWARD("efficient_attention"),
    FORWARD("cudnn_attention"),
    BACKWARD("cudnn_attention"),
    FORWARD("fused_attention_overrideable"),
    BACKWARD("fused_attention_overrideable"),
    {0},
};
