/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_norm.c - layer, group, batch and RMS normalisation, written out
 *
 * A layout says how a tensor falls into rows of which each has its mean and scale: the last
 * dimensions (layer), channels of a group (group), one channel of all samples (batch).
 */
#include "plan/eval.h"

#include <string.h>

/* Rows of n elements. Element k of row r stands in input[at(r, k)]. */
struct layout {
    size_t rows, n;
    size_t channels; /* of weight and bias */
    size_t inner;    /* elements of one channel of a sample; 1 for layer norm */
    enum {
        LAYER,
        GROUP,
        BATCH
    } kind;
};

static size_t place(const struct layout *l, size_t r, size_t k)
{
    if (l->kind != BATCH)
        return r * l->n + k;
    return (k / l->inner * l->channels + r) * l->inner + k % l->inner;
}

static size_t channel(const struct layout *l, size_t r, size_t k)
{
    if (l->kind == LAYER)
        return k;
    if (l->kind == BATCH)
        return r;
    return (r * l->n + k) / l->inner % l->channels;
}

static tc_el weight_at(const tc_el *weight, size_t c)
{
    return weight ? weight[c] : TC_EL_ONE;
}

struct moments {
    tc_el mean, scale;
};

static tc_el scale_of(struct tc_eval *e, tc_el variance, double eps)
{
    struct tc_function f = tc_eval_function(e, TC_FN_SQRT, 0, 0, 0);

    return tc_el_inv(tc_el_sqrt(&f, tc_el_add(variance, tc_el_number(eps, false))));
}

/* Without the mean for RMS. */
static struct moments moments_of(struct tc_eval *e, const struct layout *l, const tc_el *x,
                                 size_t r, double eps, bool is_rms)
{
    tc_el inverse = tc_el_inv(tc_el_int((int64_t)l->n)), sum = TC_EL_ZERO, mean = TC_EL_ZERO;

    for (size_t k = 0; k < l->n && !is_rms; k++)
        mean = tc_el_add(mean, x[place(l, r, k)]);
    mean = tc_el_mul(mean, inverse);
    for (size_t k = 0; k < l->n; k++) {
        tc_el d = tc_el_sub(x[place(l, r, k)], mean);
        sum = tc_el_add(sum, tc_el_mul(d, d));
    }
    return (struct moments){mean, scale_of(e, tc_el_mul(sum, inverse), eps)};
}

static void normalise(const struct layout *l, const tc_el *x, size_t r, struct moments m,
                      const tc_el *weight, const tc_el *bias, tc_el *to)
{
    for (size_t k = 0; k < l->n; k++) {
        size_t at = place(l, r, k), c = channel(l, r, k);
        tc_el y = tc_el_mul(tc_el_sub(x[at], m.mean), m.scale);
        y = tc_el_mul(y, weight_at(weight, c));
        to[at] = bias ? tc_el_add(y, bias[c]) : y;
    }
}

/* The layout of an input by its dimensions; false if the plan's sizes do not fit. */
static bool layout_of(struct tc_eval *e, const struct tc_plan_tensor *x, struct layout *l,
                      int64_t n_normalised, int64_t groups, int kind)
{
    size_t numel = (size_t)x->numel;

    *l = (struct layout){.kind = kind, .inner = 1};
    if (kind == LAYER) {
        unsigned first = n_normalised <= x->n_dims ? x->n_dims - (unsigned)n_normalised : 0;
        l->n = l->channels = tc_eval_span(x, first, x->n_dims);
        l->rows = l->n ? numel / l->n : 0;
        return true;
    }
    if (x->n_dims < 2 || x->sizes[1] == 0 || groups < 1 || x->sizes[1] % groups) {
        tc_eval_fail(e, "sizes that cannot be normalised");
        return false;
    }
    l->channels = (size_t)x->sizes[1];
    l->inner = tc_eval_span(x, 2, x->n_dims);
    l->rows = kind == BATCH ? l->channels : (size_t)(x->sizes[0] * groups);
    l->n = l->rows ? numel / l->rows : 0;
    return true;
}

static bool has_channels(struct tc_eval *e, const struct layout *l, unsigned i)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, i);

    if (t && (size_t)t->numel != l->channels)
        tc_eval_fail(e, "a weight of another size");
    return !*e->failure;
}

/* input, weight, bias, then eps; outputs y, mean, rstd. */
static void forward(struct tc_eval *e, const struct layout *l, double eps, bool is_rms)
{
    const tc_el *x = tc_eval_in(e, 0), *weight = tc_eval_in(e, 1), *bias = tc_eval_in(e, 2);
    tc_el *y = tc_eval_new(e, l->rows * l->n), *mean = tc_eval_new(e, l->rows),
          *scale = tc_eval_new(e, l->rows);

    if (!has_channels(e, l, 1) || !has_channels(e, l, 2))
        return;
    for (size_t r = 0; r < l->rows; r++) {
        struct moments m = moments_of(e, l, x, r, eps, is_rms);
        normalise(l, x, r, m, weight, bias, y);
        mean[r] = m.mean;
        scale[r] = m.scale;
    }
    tc_eval_write(e, 0, y, l->rows * l->n);
    if (is_rms) {
        tc_eval_write(e, 1, scale, l->rows);
        return;
    }
    tc_eval_write(e, 1, mean, l->rows);
    tc_eval_write(e, 2, scale, l->rows);
}

static void run_layer_norm(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 0);
    bool is_rms = e->op->rule->variant;
    double eps = tc_eval_number(e, 4, is_rms ? 1.1920928955078125e-07 : 1e-5);
    struct layout l;

    if (x && layout_of(e, x, &l, (int64_t)tc_eval_arg(e, 3)->n, 1, LAYER))
        forward(e, &l, eps, is_rms);
}

static void run_group_norm(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 0);
    struct layout l;

    if (x && layout_of(e, x, &l, 0, tc_eval_int(e, 3, 1), GROUP))
        forward(e, &l, tc_eval_number(e, 4, 1e-5), false);
}

/* ---- batch norm ---------------------------------------------------------------------------- */

/* running = (1 - momentum) * running + momentum * value */
static void follow_statistic(struct tc_eval *e, unsigned i, size_t c, tc_el value, double momentum)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, i);
    tc_el w = tc_el_number(momentum, false);

    if (!t)
        return;
    tc_el *p = &e->storages[t->storage][t->offset + (int64_t)c * t->strides[0]];
    *p = tc_el_add(tc_el_mul(tc_el_sub(TC_EL_ONE, w), *p), tc_el_mul(w, value));
}

static tc_el unbiased(struct tc_eval *e, const struct layout *l, const tc_el *x, size_t r,
                      tc_el mean)
{
    tc_el sum = TC_EL_ZERO;

    (void)e;
    for (size_t k = 0; k < l->n; k++) {
        tc_el d = tc_el_sub(x[place(l, r, k)], mean);
        sum = tc_el_add(sum, tc_el_mul(d, d));
    }
    return tc_el_mul(sum, tc_el_inv(tc_el_int((int64_t)l->n - 1)));
}

/* input weight bias running_mean running_var training momentum eps */
static void run_batch_norm(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    const tc_el *x = tc_eval_in(e, 0), *weight = tc_eval_in(e, 1), *bias = tc_eval_in(e, 2);
    const tc_el *kept[2] = {tc_eval_in(e, 3), tc_eval_in(e, 4)};
    bool is_training = e->op->rule->variant ? true : tc_eval_bool(e, 5, true);
    double momentum = tc_eval_number(e, 6, 0.1), eps = tc_eval_number(e, 7, 1e-5);
    struct layout l;

    if (!t || !layout_of(e, t, &l, 0, 1, BATCH) || !has_channels(e, &l, 1) ||
        !has_channels(e, &l, 2) || !has_channels(e, &l, 3) || !has_channels(e, &l, 4))
        return;
    if (!is_training && (!kept[0] || !kept[1])) {
        tc_eval_fail(e, "no running statistics");
        return;
    }
    tc_el *y = tc_eval_new(e, l.rows * l.n), *mean = tc_eval_new(e, l.rows),
          *scale = tc_eval_new(e, l.rows);
    for (size_t r = 0; r < l.rows; r++) {
        struct moments m = is_training ? moments_of(e, &l, x, r, eps, false)
                                       : (struct moments){kept[0][r], scale_of(e, kept[1][r], eps)};
        normalise(&l, x, r, m, weight, bias, y);
        mean[r] = m.mean;
        scale[r] = m.scale;
        if (is_training) {
            follow_statistic(e, 3, r, m.mean, momentum);
            follow_statistic(e, 4, r, unbiased(e, &l, x, r, m.mean), momentum);
        }
    }
    tc_eval_write(e, 0, y, l.rows * l.n);
    if (is_training && tc_eval_out(e, 1) && tc_eval_out(e, 1)->numel) {
        tc_eval_write(e, 1, mean, l.rows);
        tc_eval_write(e, 2, scale, l.rows);
    }
}

/* ---- backward ------------------------------------------------------------------------------ */

struct backward {
    const struct layout *l;
    const tc_el *g, *x, *weight;
    tc_el *to, *to_weight, *to_bias;
    bool is_rms, is_fixed; /* fixed: moments are no function of x */
};

/* With h = (x - mean) * scale and u = g * weight: scale * (u - mean(u) - h * mean(u * h)). */
static void backward_row(struct backward *b, size_t r, struct moments m)
{
    const struct layout *l = b->l;
    tc_el inverse = tc_el_inv(tc_el_int((int64_t)l->n)), s1 = TC_EL_ZERO, s2 = TC_EL_ZERO;

    for (size_t k = 0; k < l->n; k++) {
        size_t at = place(l, r, k), c = channel(l, r, k);
        tc_el h = tc_el_mul(tc_el_sub(b->x[at], m.mean), m.scale);
        tc_el u = tc_el_mul(b->g[at], weight_at(b->weight, c));
        s1 = tc_el_add(s1, u);
        s2 = tc_el_add(s2, tc_el_mul(u, h));
        b->to_weight[c] = tc_el_add(b->to_weight[c], tc_el_mul(b->g[at], h));
        b->to_bias[c] = tc_el_add(b->to_bias[c], b->g[at]);
    }
    s1 = b->is_rms || b->is_fixed ? TC_EL_ZERO : tc_el_mul(s1, inverse);
    s2 = b->is_fixed ? TC_EL_ZERO : tc_el_mul(s2, inverse);
    for (size_t k = 0; k < l->n; k++) {
        size_t at = place(l, r, k);
        tc_el h = tc_el_mul(tc_el_sub(b->x[at], m.mean), m.scale);
        tc_el u = tc_el_mul(b->g[at], weight_at(b->weight, channel(l, r, k)));
        u = tc_el_sub(tc_el_sub(u, s1), tc_el_mul(h, s2));
        b->to[at] = tc_el_mul(u, m.scale);
    }
}

static void clear(tc_el *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = TC_EL_ZERO;
}

/* grad_out input mean rstd weight ...; moments are given, or those of running statistics. */
static void run_norm_backward(struct tc_eval *e, const struct layout *l, struct backward b,
                              const struct moments *given)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *x = tc_eval_tensor(e, 1);
    size_t n = l->rows * l->n;

    if (!g || !x || (size_t)g->numel != n || (size_t)x->numel != n || !has_channels(e, l, 4)) {
        tc_eval_fail(e, "a gradient of another size");
        return;
    }
    b.l = l;
    b.g = tc_eval_in(e, 0);
    b.x = tc_eval_in(e, 1);
    b.weight = tc_eval_in(e, 4);
    b.to = tc_eval_new(e, n);
    b.to_weight = tc_eval_new(e, l->channels);
    b.to_bias = tc_eval_new(e, l->channels);
    clear(b.to_weight, l->channels);
    clear(b.to_bias, l->channels);
    for (size_t r = 0; r < l->rows; r++)
        backward_row(&b, r, given[r]);
    tc_eval_write(e, 0, b.to, n);
    tc_eval_write(e, 1, b.to_weight, l->channels);
    if (!b.is_rms)
        tc_eval_write(e, 2, b.to_bias, l->channels);
}

static struct moments *given_moments(struct tc_eval *e, const struct layout *l, unsigned mean,
                                     unsigned scale)
{
    struct moments *m = tc_arena_alloc(e->scratch, (l->rows + 1) * sizeof(*m));
    const struct tc_plan_tensor *t[2] = {tc_eval_tensor(e, mean), tc_eval_tensor(e, scale)};
    const tc_el *p[2] = {t[0] ? tc_eval_read(e, t[0]) : NULL, t[1] ? tc_eval_read(e, t[1]) : NULL};

    for (int i = 0; i < 2; i++)
        if (t[i] && (size_t)t[i]->numel != l->rows)
            tc_eval_fail(e, "moments of another size");
    for (size_t r = 0; r < l->rows && !*e->failure; r++)
        m[r] = (struct moments){p[0] ? p[0][r] : TC_EL_ZERO, p[1] ? p[1][r] : TC_EL_ONE};
    return m;
}

static void run_layer_norm_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 1);
    bool is_rms = e->op->rule->variant;
    struct layout l;

    if (!x || !layout_of(e, x, &l, (int64_t)tc_eval_arg(e, 5)->n, 1, LAYER))
        return;
    struct moments *m = given_moments(e, &l, 2, 3);
    if (!*e->failure)
        run_norm_backward(e, &l, (struct backward){.is_rms = is_rms}, m);
}

static void run_group_norm_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 1);
    struct layout l;

    if (!x || !layout_of(e, x, &l, 0, tc_eval_int(e, 5, 1), GROUP))
        return;
    struct moments *m = given_moments(e, &l, 2, 3);
    if (!*e->failure)
        run_norm_backward(e, &l, (struct backward){0}, m);
}

/* grad_out input save_mean save_invstd weight running_mean running_var train eps */
static void run_batch_norm_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 1);
    bool is_training = tc_eval_bool(e, 7, true);
    struct layout l;

    if (!x || !layout_of(e, x, &l, 0, 1, BATCH))
        return;
    struct moments *m = given_moments(e, &l, is_training ? 2 : 5, is_training ? 3 : 6);
    for (size_t r = 0; !is_training && r < l.rows && !*e->failure; r++)
        m[r].scale = scale_of(e, m[r].scale, tc_eval_number(e, 8, 1e-5));
    if (!*e->failure)
        run_norm_backward(e, &l, (struct backward){.is_fixed = !is_training}, m);
}

const struct tc_rule tc_rules_norm[] = {
    {"aten.native_layer_norm",               "input weight bias normalized_shape eps", run_layer_norm,
     TC_RULE_PLAIN, 0, 0},
    {"aten._fused_rms_norm",                        "input weight - normalized_shape eps", run_layer_norm, TC_RULE_PLAIN,
     1, 0},
    {"aten.native_group_norm",                                     "input weight bias group eps", run_group_norm, TC_RULE_PLAIN, 0, 0},
    {"aten.native_batch_norm",                                      "input weight bias running_mean running_var training momentum eps",
     run_batch_norm, TC_RULE_PLAIN, 0, 0},
    {"aten._native_batch_norm_legit_functional",
     "input weight bias running_mean running_var training momentum eps", run_batch_norm,
     TC_RULE_PLAIN, 0, 0},
    {"aten.native_layer_norm_backward",                         "grad_out input mean rstd weight normalized_shape",
     run_layer_norm_backward, TC_RULE_PLAIN, 0, 0},
    {"aten._fused_rms_norm_backward",                                     "grad_out input - rstd weight normalized_shape",
     run_layer_norm_backward, TC_RULE_PLAIN, 1, 0},
    {"aten.native_group_norm_backward",               "grad_out input mean rstd weight group",
     run_group_norm_backward, TC_RULE_PLAIN, 0, 0},
    {"aten.native_batch_norm_backward",
     "grad_out input save_mean save_invstd weight running_mean running_var train eps", run_batch_norm_backward, TC_RULE_PLAIN, 0, 0},
    {0                                    },
};
