/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_linear.c - products of matrices and vectors
 *
 * Matrices are read where they lie, by strides and without a copy. Products are exact.
 */
#include "plan/eval.h"

#include "plan/matrix.h"

/* A matrix as it lies in its storage, without a copy: batch b of a tensor of two or three
 * dimensions. */
static struct tc_matrix matrix_of(const struct tc_eval *e, const struct tc_plan_tensor *t,
                                  int64_t b)
{
    unsigned n = t->n_dims;
    int64_t at = t->offset + (n == 3 ? b * t->strides[0] : 0);

    return (struct tc_matrix){e->storages[t->storage] + at, (size_t)t->sizes[n - 2],
                              (size_t)t->sizes[n - 1], (size_t)t->strides[n - 2],
                              (size_t)t->strides[n - 1]};
}

static bool fit(struct tc_eval *e, const struct tc_plan_tensor *a, const struct tc_plan_tensor *b,
                unsigned n_dims)
{
    bool is_fit = a && b && a->n_dims == n_dims && b->n_dims == n_dims &&
                  a->sizes[n_dims - 1] == b->sizes[n_dims - 2] &&
                  (n_dims == 2 || a->sizes[0] == b->sizes[0]);

    if (!is_fit)
        tc_eval_fail(e, "matrices that do not fit");
    return is_fit;
}

static tc_el *multiply(struct tc_eval *e, const struct tc_plan_tensor *a,
                       const struct tc_plan_tensor *b, size_t *n)
{
    int64_t batches = a->n_dims == 3 ? a->sizes[0] : 1;
    size_t each = (size_t)a->sizes[a->n_dims - 2] * (size_t)b->sizes[b->n_dims - 1];

    *n = (size_t)batches * each;
    tc_el *to = tc_eval_new(e, *n);
    for (int64_t k = 0; k < batches; k++)
        tc_matrix_multiply(matrix_of(e, a, k), matrix_of(e, b, k), to + (size_t)k * each,
                           e->scratch);
    return to;
}

/* mm: variant 2, bmm: 3. */
static void run_mm(struct tc_eval *e)
{
    const struct tc_plan_tensor *a = tc_eval_tensor(e, 0), *b = tc_eval_tensor(e, 1);
    size_t n;

    if (!fit(e, a, b, (unsigned)e->op->rule->variant))
        return;
    tc_el *to = multiply(e, a, b, &n);
    tc_eval_write(e, 0, to, n);
}

static void add_scaled(struct tc_eval *e, tc_el *to, size_t n)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    tc_el beta = tc_eval_scalar(e, 3, 1), alpha = tc_eval_scalar(e, 4, 1);

    if ((size_t)out->numel != n) {
        tc_eval_fail(e, "matrices that do not fit");
        return;
    }
    struct tc_operand self = tc_eval_operand(e, 0, out);
    bool has_self = !tc_el_same(beta, TC_EL_ZERO); /* then it may hold anything */
    for (size_t i = 0; i < n && !*e->failure; i++) {
        tc_el product = tc_el_mul(alpha, to[i]);
        to[i] = has_self ? tc_el_add(tc_el_mul(beta, self.p[i * self.step]), product) : product;
    }
    tc_eval_write(e, 0, to, n);
}

static void run_addmm(struct tc_eval *e)
{
    const struct tc_plan_tensor *a = tc_eval_tensor(e, 1), *b = tc_eval_tensor(e, 2);
    size_t n;

    if (!fit(e, a, b, (unsigned)e->op->rule->variant))
        return;
    tc_el *to = multiply(e, a, b, &n);
    add_scaled(e, to, n);
}

/* mv: variant 0, addmv: 1. */
static void run_mv(struct tc_eval *e)
{
    unsigned first = (unsigned)e->op->rule->variant;
    const struct tc_plan_tensor *a = tc_eval_tensor(e, first), *x = tc_eval_tensor(e, first + 1);

    if (!a || !x || a->n_dims != 2 || x->n_dims != 1 || a->sizes[1] != x->sizes[0]) {
        tc_eval_fail(e, "matrices that do not fit");
        return;
    }
    size_t n = (size_t)a->sizes[0];
    tc_el *to = tc_eval_new(e, n);
    struct tc_matrix column =
        tc_matrix_turned(tc_matrix_of(tc_eval_read(e, x), 1, (size_t)x->numel));
    tc_matrix_multiply(matrix_of(e, a, 0), column, to, e->scratch);
    if (first)
        add_scaled(e, to, n);
    else
        tc_eval_write(e, 0, to, n);
}

static void run_dot(struct tc_eval *e)
{
    const struct tc_plan_tensor *a = tc_eval_tensor(e, 0), *b = tc_eval_tensor(e, 1);

    if (!a || !b || a->numel != b->numel) {
        tc_eval_fail(e, "vectors that do not fit");
        return;
    }
    tc_el r = tc_el_dot(tc_eval_read(e, a), 1, tc_eval_read(e, b), 1, (size_t)a->numel);
    tc_eval_write(e, 0, &r, 1);
}

/* ---- groups: rows or columns are cut where offs says ---------------------------------------- */

static struct tc_matrix rows_of(struct tc_matrix m, size_t from, size_t to)
{
    m.p += from * m.row;
    m.rows = to - from;
    return m;
}

static struct tc_matrix columns_of(struct tc_matrix m, size_t from, size_t to)
{
    return tc_matrix_turned(rows_of(tc_matrix_turned(m), from, to));
}

/* The product of group g, written where it belongs. */
static void multiply_group(const struct tc_eval *e, const struct tc_plan_tensor *a,
                           const struct tc_plan_tensor *b, int64_t g, size_t from, size_t to,
                           tc_el *part, tc_el *out)
{
    struct tc_matrix left = matrix_of(e, a, a->n_dims == 3 ? g : 0),
                     right = matrix_of(e, b, b->n_dims == 3 ? g : 0);

    if (a->n_dims == 2 && b->n_dims == 3) {
        tc_matrix_multiply(rows_of(left, from, to), right, out + from * right.columns, e->scratch);
    } else if (a->n_dims == 2) {
        tc_matrix_multiply(columns_of(left, from, to), rows_of(right, from, to),
                           out + (size_t)g * left.rows * right.columns, e->scratch);
    } else {
        tc_matrix_multiply(left, columns_of(right, from, to), part, e->scratch);
        for (size_t i = 0; i < left.rows; i++)
            for (size_t j = from; j < to; j++)
                out[i * right.columns + j] = *part++;
    }
}

/* What is cut: the rows of a, the columns of b, or both along the sum. */
static int64_t cut_size(const struct tc_plan_tensor *a, const struct tc_plan_tensor *b)
{
    return a->n_dims == 3 ? b->sizes[1] : b->n_dims == 3 ? a->sizes[0] : a->sizes[1];
}

static bool are_groups(struct tc_eval *e, const struct tc_plan_tensor *a,
                       const struct tc_plan_tensor *b, const struct tc_plan_tensor *offs)
{
    bool is_fit = a && b && offs && offs->n_dims == 1 && !tc_eval_tensor(e, 3) &&
                  (a->n_dims == 2 || a->n_dims == 3) && (b->n_dims == 2 || b->n_dims == 3) &&
                  a->n_dims + b->n_dims < 6 && a->sizes[a->n_dims - 1] == b->sizes[b->n_dims - 2] &&
                  (a->n_dims == 2 || a->sizes[0] == offs->numel) &&
                  (b->n_dims == 2 || b->sizes[0] == offs->numel);

    if (!is_fit)
        tc_eval_fail(e, "groups of matrices that do not fit, or a bias");
    return is_fit;
}

/* _grouped_mm: self mat2 offs bias. Rows behind the last group are undefined. */
static void run_grouped(struct tc_eval *e)
{
    const struct tc_plan_tensor *a = tc_eval_tensor(e, 0), *b = tc_eval_tensor(e, 1),
                                *offs = tc_eval_tensor(e, 2), *out = tc_eval_out(e, 0);
    int64_t from = 0;

    if (!out || !are_groups(e, a, b, offs))
        return;
    size_t n = (size_t)out->numel;
    const tc_el *ends = tc_eval_read(e, offs);
    tc_el *to = tc_eval_new(e, n), *part = tc_eval_new(e, n);
    for (size_t i = 0; i < n; i++)
        to[i] = TC_EL_UNDEF;
    for (int64_t g = 0; g < offs->numel; g++) {
        int64_t end = tc_eval_index(ends[g]);
        if (end < from || end > cut_size(a, b)) {
            tc_eval_fail(e, "groups whose ends are out of order or range");
            return;
        }
        multiply_group(e, a, b, g, (size_t)from, (size_t)end, part, to);
        from = end;
    }
    tc_eval_write(e, 0, to, n);
}

const struct tc_rule tc_rules_linear[] = {
    {"aten._grouped_mm", "self mat2 offs bias", run_grouped, TC_RULE_PLAIN, 0, 0},
    {"aten.mm",       "self mat2", run_mm, TC_RULE_PLAIN, 2, 0},
    {"aten.bmm",                 "self mat2", run_mm, TC_RULE_PLAIN, 3, 0},
    {"aten.addmm",                  "self mat1 mat2 beta alpha", run_addmm, TC_RULE_PLAIN, 2, 0},
    {"aten.baddbmm", "self batch1 batch2 beta alpha", run_addmm, TC_RULE_PLAIN, 3, 0},
    {"aten.mv",     "self vec", run_mv, TC_RULE_PLAIN, 0, 0},
    {"aten.addmv",                 "self mat vec beta alpha", run_mv, TC_RULE_PLAIN, 1, 0},
    {"aten.dot",         "self tensor", run_dot, TC_RULE_PLAIN, 0, 0},
    {"aten.vdot",            "self other", run_dot, TC_RULE_PLAIN, 0, 0},
    {0                },
};
