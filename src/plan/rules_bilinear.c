/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_bilinear.c - what is linear in each of several arguments: the product of torch.nn.Bilinear,
 * convolutions with time first, grids of affine maps
 *
 * The three factors of the product are read as views of one shape; the dimensions that are summed
 * are a set of bits.
 */
#include "plan/eval.h"

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
    tc_el *to = tc_eval_zeros(e, (size_t)n);
    multiply(&x, to);
    tc_eval_write(e, 0, to, (size_t)n);
}

/* ---- conv_tbc: [time, batch, channels] by [kernel, channels, out] ------------------------------
 */

/* self weight bias pad */
static void run_conv_tbc(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 0), *w = tc_eval_tensor(e, 1),
                                *bias = tc_eval_tensor(e, 2), *y = tc_eval_out(e, 0);
    int64_t pad = tc_eval_int(e, 3, 0);

    if (!x || !w || !bias || !y || x->n_dims != 3 || w->n_dims != 3 || y->n_dims != 3 ||
        w->sizes[1] != x->sizes[2] || bias->numel != w->sizes[2] || y->sizes[1] != x->sizes[1] ||
        y->sizes[2] != w->sizes[2]) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    int64_t in = x->sizes[2], out = w->sizes[2], batch = x->sizes[1];
    const tc_el *from = tc_eval_read(e, x), *by = tc_eval_read(e, w), *b = tc_eval_read(e, bias);
    tc_el *to = tc_eval_new(e, (size_t)y->numel);
    for (int64_t i = 0; i < y->numel; i++) {
        int64_t o = i % out, row = i / out % batch, time = i / out / batch;
        to[i] = b[o];
        for (int64_t k = 0; k < w->sizes[0]; k++) {
            int64_t at = time + k - pad;
            if (at >= 0 && at < x->sizes[0])
                to[i] = tc_el_add(to[i], tc_el_dot(from + (at * batch + row) * in, 1,
                                                   by + k * in * out + o, (size_t)out, (size_t)in));
        }
    }
    tc_eval_write(e, 0, to, (size_t)y->numel);
}

/* ---- affine_grid: the places of pixels' centres, or of corners, between -1 and 1 ---------------
 */

static tc_el centre(int64_t i, int64_t n, bool has_corners)
{
    int64_t den = has_corners ? n - 1 : n, num = has_corners ? 2 * i - den : 2 * i + 1 - n;

    return den ? tc_el_mul(tc_el_int(num), tc_el_inv(tc_el_int(den))) : TC_EL_ZERO;
}

/* theta size align_corners: [n, d, d + 1] to [n, .., d], the last dimension of space first */
static void run_affine_grid(struct tc_eval *e)
{
    const struct tc_plan_tensor *theta = tc_eval_tensor(e, 0), *y = tc_eval_out(e, 0);
    bool has_corners = tc_eval_bool(e, 2, false);

    if (!theta || !y || theta->n_dims != 3 || theta->sizes[2] != theta->sizes[1] + 1 ||
        y->n_dims != theta->sizes[1] + 2 || y->n_dims > MAX_DIMS ||
        y->sizes[y->n_dims - 1] != theta->sizes[1] || y->sizes[0] != theta->sizes[0]) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    unsigned n = (unsigned)theta->sizes[1];
    const tc_el *map = tc_eval_read(e, theta);
    tc_el *to = tc_eval_new(e, (size_t)y->numel);
    for (int64_t i = 0; i < y->numel; i++) {
        int64_t left = i / n;
        tc_el place[MAX_DIMS];
        for (unsigned d = 0; d < n; left /= y->sizes[n - d], d++)
            place[d] = centre(left % y->sizes[n - d], y->sizes[n - d], has_corners);
        place[n] = TC_EL_ONE;
        to[i] = tc_el_dot(map + (left * n + i % n) * (n + 1), 1, place, 1, n + 1);
    }
    tc_eval_write(e, 0, to, (size_t)y->numel);
}

const struct tc_rule tc_rules_bilinear[] = {
    {"aten._trilinear", "i1 i2 i3 expand1 expand2 expand3 sumdim", run_trilinear, TC_RULE_PLAIN, 0,
     0},
    {"aten.conv_tbc",    "self weight bias pad", run_conv_tbc, TC_RULE_PLAIN, 0, 0},
    {"aten.affine_grid_generator",                "theta - align_corners", run_affine_grid, TC_RULE_PLAIN, 0, 0},
    {0                },
};
