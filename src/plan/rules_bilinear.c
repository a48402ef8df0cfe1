/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_bilinear.c - what is linear in each of several arguments: interpolation between pixels, and
 * the product of torch.nn.Bilinear
 *
 * Weights of pixels are ratios of sizes, so the results are exact.
 */
#include "plan/eval.h"

/* ---- interpolation ------------------------------------------------------------------------- */

/* Output `i` of one dimension lies between two inputs, with weights of the sum 1. */
struct between {
    size_t low, high;
    tc_el low_weight, high_weight;
};

/* The place of output i as a ratio: of pixels' centres, or with corners on corners.
 * https://docs.pytorch.org/docs/stable/generated/torch.nn.Upsample.html */
static struct between between(int64_t i, int64_t in, int64_t out, bool has_corners)
{
    int64_t den = has_corners ? (out > 1 ? out - 1 : 1) : 2 * out;
    int64_t num = has_corners ? (out > 1 ? i * (in - 1) : 0) : (2 * i + 1) * in - out;
    struct between b;

    num = num < 0 ? 0 : num;
    b.low = (size_t)(num / den);
    b.high = b.low + 1 < (size_t)in ? b.low + 1 : b.low;
    b.high_weight = tc_el_mul(tc_el_int(num % den), tc_el_inv(tc_el_int(den)));
    b.low_weight = tc_el_add(TC_EL_ONE, tc_el_neg(b.high_weight));
    return b;
}

static void add_weighted(tc_el *to, tc_el x, tc_el weight, tc_el other_weight)
{
    *to = tc_el_add(*to, tc_el_mul(x, tc_el_mul(weight, other_weight)));
}

/* A plane of in_h x in_w from or to one of out_h x out_w. */
static void interpolate(const tc_el *from, tc_el *to, const int64_t *in, const int64_t *out,
                        bool has_corners, bool is_back)
{
    for (int64_t k = 0; k < out[0] * out[1]; k++) {
        struct between y = between(k / out[1], in[0], out[0], has_corners),
                       x = between(k % out[1], in[1], out[1], has_corners);
        size_t at[4] = {y.low * (size_t)in[1] + x.low, y.low * (size_t)in[1] + x.high,
                        y.high * (size_t)in[1] + x.low, y.high * (size_t)in[1] + x.high};
        for (unsigned c = 0; c < 4; c++)
            add_weighted(&to[is_back ? at[c] : (size_t)k], from[is_back ? (size_t)k : at[c]],
                         c < 2 ? y.low_weight : y.high_weight,
                         c % 2 ? x.high_weight : x.low_weight);
    }
}

/* Is the scale that was asked for that of the sizes? With corners it does not count. */
static bool is_scale(const struct tc_eval *e, unsigned i, int64_t in, int64_t out)
{
    double scale = tc_eval_number(e, i, 0);

    return scale <= 0 || scale * (double)in == (double)out;
}

/* self output_size align_corners scales_h scales_w; variant 1: its gradient. */
static void run_bilinear(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *y = tc_eval_out(e, 0);
    bool is_back = e->op->rule->variant, has_corners = tc_eval_bool(e, 2, false);
    const struct tc_plan_tensor *small = is_back ? y : t, *large = is_back ? t : y;

    if (!t || !y || t->n_dims != 4 || y->n_dims != 4 || !t->numel || !y->numel ||
        t->sizes[0] != y->sizes[0] || t->sizes[1] != y->sizes[1]) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    const int64_t *in = small->sizes + 2, *out = large->sizes + 2;
    if (!has_corners && (!is_scale(e, 3, in[0], out[0]) || !is_scale(e, 4, in[1], out[1]))) {
        tc_eval_fail(e, "a scale that is not that of the sizes");
        return;
    }
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_new(e, (size_t)y->numel);
    for (int64_t i = 0; i < y->numel; i++)
        to[i] = TC_EL_ZERO;
    int64_t from_plane = t->sizes[2] * t->sizes[3], to_plane = y->sizes[2] * y->sizes[3];
    for (int64_t p = 0; p < t->sizes[0] * t->sizes[1]; p++)
        interpolate(from + p * from_plane, to + p * to_plane, in, out, has_corners, is_back);
    tc_eval_write(e, 0, to, (size_t)y->numel);
}

/* ---- a product of three tensors, summed ---------------------------------------------------- */

#define MAX_DIMS 8

/* Three tensors as views of one shape, in which each may lack dimensions. */
struct product {
    unsigned n_dims;
    int64_t sizes[MAX_DIMS], steps[3][MAX_DIMS];
    const tc_el *p[3];
    uint32_t summed; /* a bit for each dimension */
};

static bool has_dim(const struct tc_eval *e, unsigned list, unsigned d, unsigned n)
{
    const struct tc_plan_value *v = tc_eval_arg(e, list);

    for (uint32_t i = 0; v->kind == TC_PLAN_LIST && i < v->n; i++)
        if (tc_eval_dim(tc_eval_item(e, list, i, 0), n) == d)
            return true;
    return false;
}

static unsigned count_items(const struct tc_eval *e, unsigned list)
{
    const struct tc_plan_value *v = tc_eval_arg(e, list);

    return v->kind == TC_PLAN_LIST ? v->n : 0;
}

/* Tensor k, with the dimensions that its list names set in. */
static bool add_factor(struct tc_eval *e, unsigned k, struct product *x)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, k);
    unsigned own = t ? t->n_dims : 0;
    int64_t step = 1;

    if (!t || own + count_items(e, 3 + k) != x->n_dims)
        return false;
    x->p[k] = tc_eval_read(e, t);
    for (unsigned d = x->n_dims; d-- > 0;) {
        int64_t size = has_dim(e, 3 + k, d, x->n_dims) ? 1 : own ? t->sizes[--own] : 1;
        x->steps[k][d] = size > 1 ? step : 0;
        step *= size;
        if (size > 1 && x->sizes[d] > 1 && size != x->sizes[d])
            return false;
        x->sizes[d] = size > x->sizes[d] ? size : x->sizes[d];
    }
    return true;
}

static void multiply(const struct product *x, tc_el *to)
{
    int64_t n = 1;

    for (unsigned d = 0; d < x->n_dims; d++)
        n *= x->sizes[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t at[3] = {0}, left = i, out = 0, step = 1;
        for (unsigned d = x->n_dims; d-- > 0; left /= x->sizes[d]) {
            int64_t place = left % x->sizes[d];
            for (unsigned k = 0; k < 3; k++)
                at[k] += place * x->steps[k][d];
            if (x->summed >> d & 1)
                continue;
            out += place * step;
            step *= x->sizes[d];
        }
        to[out] = tc_el_add(to[out],
                            tc_el_mul(x->p[0][at[0]], tc_el_mul(x->p[1][at[1]], x->p[2][at[2]])));
    }
}

/* i1 i2 i3 expand1 expand2 expand3 sumdim */
static void run_trilinear(struct tc_eval *e)
{
    const struct tc_plan_tensor *first = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct product x = {.n_dims = first ? first->n_dims + count_items(e, 3) : 0};
    int64_t n = 1;

    for (unsigned d = 0; d < MAX_DIMS; d++)
        x.sizes[d] = 1;
    bool fits = out && x.n_dims > 0 && x.n_dims <= MAX_DIMS;
    for (unsigned k = 0; k < 3 && fits; k++)
        fits = add_factor(e, k, &x);
    for (unsigned d = 0; d < x.n_dims && fits; d++) {
        x.summed |= (uint32_t)has_dim(e, 6, d, x.n_dims) << d;
        n *= x.summed >> d & 1 ? 1 : x.sizes[d];
    }
    if (!fits || n != out->numel) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    tc_el *to = tc_eval_new(e, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        to[i] = TC_EL_ZERO;
    multiply(&x, to);
    tc_eval_write(e, 0, to, (size_t)n);
}

const struct tc_rule tc_rules_bilinear[] = {
    {"aten.upsample_bilinear2d", "self - align_corners scales_h scales_w", run_bilinear,
     TC_RULE_PLAIN, 0, 0},
    {"aten.upsample_bilinear2d_backward",              "grad_output - align_corners scales_h scales_w",
     run_bilinear, TC_RULE_PLAIN, 1, 0},
    {"aten._trilinear",                         "i1 i2 i3 expand1 expand2 expand3 sumdim", run_trilinear, TC_RULE_PLAIN, 0,
     0},
    {0                         },
};
