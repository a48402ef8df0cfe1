/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_pool.c - pooling over two dimensions, and its gradients
 *
 * A window is walked in the input, without the padding. The plan holds the positions of maxima,
 * so a gradient needs no order of elements.
 */
#include "plan/eval.h"

/* The last two dimensions of an input, and the windows over them. */
struct pool {
    int64_t planes, h, w, oh, ow;
    int64_t kernel[2], stride[2], padding[2], dilation[2];
};

/* Sizes of a file: windows larger than the padded input are no pooling. */
static bool fits(const struct pool *p, unsigned d)
{
    const int64_t size = d ? p->w : p->h;

    return p->stride[d] > 0 && p->dilation[d] > 0 && p->dilation[d] <= size && p->kernel[d] > 0 &&
           p->padding[d] >= 0 && p->padding[d] <= size && p->kernel[d] <= size + 2 * p->padding[d];
}

static bool pool_of(struct tc_eval *e, const struct tc_plan_tensor *x,
                    const struct tc_plan_tensor *y, unsigned first, struct pool *p)
{
    if (!x || !y || x->n_dims < 3 || y->n_dims != x->n_dims ||
        tc_eval_span(x, 0, x->n_dims - 2) != tc_eval_span(y, 0, x->n_dims - 2)) {
        tc_eval_fail(e, "sizes that do not fit");
        return false;
    }
    unsigned n = x->n_dims;
    *p = (struct pool){.planes = (int64_t)tc_eval_span(x, 0, n - 2),
                       .h = x->sizes[n - 2],
                       .w = x->sizes[n - 1],
                       .oh = y->sizes[n - 2],
                       .ow = y->sizes[n - 1]};
    for (unsigned d = 0; d < 2; d++) {
        p->kernel[d] = tc_eval_item(e, first, d, 1);
        p->stride[d] = tc_eval_item(e, first + 1, d, p->kernel[d]);
        p->padding[d] = tc_eval_item(e, first + 2, d, 0);
        p->dilation[d] = tc_eval_item(e, first + 3, d, 1);
    }
    return true;
}

/* A pooling with windows of its own; says why not. */
static bool windows_of(struct tc_eval *e, const struct tc_plan_tensor *x,
                       const struct tc_plan_tensor *y, unsigned first, bool is_dilated,
                       struct pool *p)
{
    if (!pool_of(e, x, y, first, p))
        return false;
    if (!is_dilated)
        p->dilation[0] = p->dilation[1] = 1;
    if (!fits(p, 0) || !fits(p, 1))
        tc_eval_fail(e, "windows that do not fit");
    return !*e->failure;
}

/* Position k of the window of output (i, j) in its plane; -1 in the padding. */
static int64_t inside(const struct pool *p, int64_t i, int64_t j, int64_t k)
{
    int64_t y = i * p->stride[0] - p->padding[0] + k / p->kernel[1] * p->dilation[0];
    int64_t x = j * p->stride[1] - p->padding[1] + k % p->kernel[1] * p->dilation[1];

    return y < 0 || y >= p->h || x < 0 || x >= p->w ? -1 : y * p->w + x;
}

/* self kernel_size stride padding dilation: outputs values and positions in the plane. */
static void run_max_pool(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct pool p;

    if (!windows_of(e, t, out, 1, true, &p))
        return;
    const tc_el *from = tc_eval_read(e, t);
    size_t n = (size_t)(p.planes * p.oh * p.ow);
    tc_el *to = tc_eval_new(e, n), *places = tc_eval_new(e, n);
    for (size_t o = 0; o < n; o++) {
        int64_t at = (int64_t)o, best = -1;
        const tc_el *plane = from + at / (p.oh * p.ow) * p.h * p.w;
        for (int64_t k = 0; k < p.kernel[0] * p.kernel[1]; k++) {
            int64_t x = inside(&p, at / p.ow % p.oh, at % p.ow, k);
            if (x >= 0 && (best < 0 || tc_el_compare(plane[x], plane[best]) > 0))
                best = x;
        }
        to[o] = best < 0 ? TC_EL_MINUS : plane[best];
        places[o] = tc_el_int(best);
    }
    tc_eval_write(e, 0, to, n);
    tc_eval_write(e, 1, places, n);
}

/* grad_output self indices */
static void run_max_pool_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *t = tc_eval_tensor(e, 1),
                                *index = tc_eval_tensor(e, 2);

    if (!g || !t || !index || t->n_dims < 3 || g->n_dims != t->n_dims || g->numel != index->numel) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    size_t plane = tc_eval_span(t, t->n_dims - 2, t->n_dims),
           part = tc_eval_span(g, g->n_dims - 2, g->n_dims);
    const tc_el *from = tc_eval_read(e, g), *at = tc_eval_read(e, index);
    tc_el *to = tc_eval_new(e, (size_t)t->numel);
    for (int64_t i = 0; i < t->numel; i++)
        to[i] = TC_EL_ZERO;
    for (size_t i = 0; i < (size_t)g->numel; i++) {
        int64_t x = tc_el_is_marked(at[i]) ? -1 : tc_el_to_int(at[i]);
        size_t k = i / part * plane + (size_t)x;
        if (x < 0 || (size_t)x >= plane || k >= (size_t)t->numel) {
            tc_eval_fail(e, "an index outside its plane");
            return;
        }
        to[k] = tc_el_add(to[k], from[i]);
    }
    tc_eval_write(e, 0, to, (size_t)t->numel);
}

/* How far the window of output i reaches along dimension d, the padding on both sides included, and
 * that beyond it left out. */
static int64_t reach(const struct pool *p, unsigned d, int64_t i)
{
    int64_t begin = i * p->stride[d] - p->padding[d], end = (d ? p->w : p->h) + p->padding[d];

    return begin + p->kernel[d] < end ? p->kernel[d] : end - begin;
}

/* What the sum over the window of output (i, j) is divided by: the elements of the input in it,
 * with those of the padding if they count, or what the caller says. */
static int64_t divisor_of(struct tc_eval *e, const struct pool *p, unsigned first, int64_t i,
                          int64_t j)
{
    int64_t said = tc_eval_int(e, first + 5, 0), n = 0;

    if (said)
        return said;
    if (tc_eval_bool(e, first + 4, true))
        return reach(p, 0, i) * reach(p, 1, j);
    for (int64_t k = 0; k < p->kernel[0] * p->kernel[1]; k++)
        n += inside(p, i, j, k) >= 0;
    return n;
}

/*
 * self kernel_size stride padding ceil_mode count_include_pad divisor_override
 * variant 1: grad_output before self, spread over the windows.
 * The means of torch.nn.AvgPool2d:
 * https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html
 */
static void run_avg_pool(struct tc_eval *e)
{
    const unsigned is_backward = (unsigned)e->op->rule->variant, first = 1 + is_backward;
    const struct tc_plan_tensor *in = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct pool p;

    if (!windows_of(e, is_backward ? out : in, is_backward ? in : out, first, false, &p))
        return;
    const tc_el *from = tc_eval_read(e, in);
    const int64_t plane = p.h * p.w, part = p.oh * p.ow;
    tc_el *to = tc_eval_new(e, (size_t)out->numel);
    for (int64_t i = 0; i < out->numel; i++)
        to[i] = TC_EL_ZERO;
    for (int64_t o = 0; o < p.planes * part; o++) {
        int64_t i = o / p.ow % p.oh, j = o % p.ow, n = divisor_of(e, &p, first, i, j);
        tc_el inverse = n ? tc_el_inv(tc_el_int(n)) : TC_EL_ZERO;
        for (int64_t k = 0; k < p.kernel[0] * p.kernel[1]; k++) {
            int64_t at = inside(&p, i, j, k), x = o / part * plane + at;
            if (at < 0)
                continue;
            tc_el *add = &to[is_backward ? x : o];
            *add = tc_el_add(*add, tc_el_mul(inverse, from[is_backward ? o : x]));
        }
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* ---- resolution ----------------------------------------------------------------------------- */

/* Between [outer * r * r][h][w] and [outer][h * r][w * r], of which the second is `large`. */
static void run_shuffle(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    bool is_back = e->op->rule->variant;
    int64_t r = tc_eval_int(e, 1, 1);
    const struct tc_plan_tensor *small = is_back ? out : t;

    if (!t || !out || t->n_dims < 3 || out->n_dims != t->n_dims || r < 1 || t->numel != out->numel)
        return;
    size_t w = (size_t)small->sizes[small->n_dims - 1], h = (size_t)small->sizes[small->n_dims - 2];
    size_t n = (size_t)t->numel, k = (size_t)r;
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_new(e, n);
    for (size_t s = 0; s < n; s++) {
        size_t x = s % w, y = s / w % h, j = s / w / h % k, i = s / w / h / k % k;
        size_t large = ((s / w / h / k / k * h + y) * k + i) * w * k + x * k + j;
        to[is_back ? s : large] = from[is_back ? large : s];
    }
    tc_eval_write(e, 0, to, n);
}

/* Is the scale that was asked for that of the sizes? */
static bool is_scale(const struct tc_eval *e, unsigned i, int64_t in, int64_t out)
{
    double scale = tc_eval_number(e, i, 0);

    return scale <= 0 || scale * (double)in == (double)out;
}

/* The nearest of [outer][in_h][in_w] for each of [outer][out_h][out_w], or its gradient. */
static void run_nearest(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    bool is_back = e->op->rule->variant;
    const struct tc_plan_tensor *small = is_back ? out : t, *large = is_back ? t : out;

    if (!t || !out || t->n_dims != 4 || out->n_dims != 4 || t->sizes[0] != out->sizes[0] ||
        t->sizes[1] != out->sizes[1]) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    if (!is_scale(e, 2, small->sizes[2], large->sizes[2]) ||
        !is_scale(e, 3, small->sizes[3], large->sizes[3])) {
        tc_eval_fail(e, "a scale that is not that of the sizes");
        return;
    }
    size_t n = (size_t)large->numel, w = (size_t)large->sizes[3], h = (size_t)large->sizes[2];
    size_t from_w = (size_t)small->sizes[3], from_h = (size_t)small->sizes[2];
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_new(e, (size_t)out->numel);
    for (int64_t i = 0; i < out->numel; i++)
        to[i] = TC_EL_ZERO;
    for (size_t i = 0; i < n; i++) {
        size_t y = i / w % h * from_h / h, x = i % w * from_w / w;
        size_t at = (i / w / h * from_h + y) * from_w + x;
        to[is_back ? at : i] = is_back ? tc_el_add(to[at], from[i]) : from[at];
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

const struct tc_rule tc_rules_pool[] = {
    {"aten.max_pool2d_with_indices",      "self kernel_size stride padding dilation", run_max_pool,
     TC_RULE_PLAIN, 0, 0},
    {"aten.max_pool2d_with_indices_backward",                       "grad_output self indices", run_max_pool_backward,
     TC_RULE_PLAIN, 0, 0},
    {"aten.adaptive_max_pool2d_backward",                                  "grad_output self indices", run_max_pool_backward,
     TC_RULE_PLAIN, 0, 0},
    {"aten.avg_pool2d",
     "self kernel_size stride padding ceil_mode count_include_pad divisor_override", run_avg_pool,
     TC_RULE_PLAIN, 0, 0},
    {"aten.avg_pool2d_backward",
     "grad_output self kernel_size stride padding ceil_mode count_include_pad divisor_override", run_avg_pool, TC_RULE_PLAIN, 1, 0},
    {"aten.pixel_shuffle",                       "self upscale_factor", run_shuffle, TC_RULE_PLAIN, 0, 0},
    {"aten.pixel_unshuffle",                                  "self downscale_factor", run_shuffle, TC_RULE_PLAIN, 1, 0},
    {"aten.upsample_nearest2d", "self - scales_h scales_w", run_nearest, TC_RULE_PLAIN, 0, 0},
    {"aten.upsample_nearest2d_backward",              "grad_output - scales_h scales_w", run_nearest,
     TC_RULE_PLAIN, 1, 0},
    {0                                 },
};
