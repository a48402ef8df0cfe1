/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_convolution.c - convolutions of one to three dimensions with groups, and their gradients
 *
 * All three are sums over (sample, output position, kernel position, channels) of the product of
 * two of input, weight and output, added to the third. A transposed convolution is the same with
 * input and output changed over: what it makes is the `large` one, where windows lie.
 */
#include "plan/eval.h"

#define MAX_SPACE 3

struct convolution {
    int64_t samples, in, out, groups; /* channels */
    unsigned n;                       /* dimensions of space */
    int64_t x[MAX_SPACE], k[MAX_SPACE], y[MAX_SPACE];
    int64_t stride[MAX_SPACE], padding[MAX_SPACE], dilation[MAX_SPACE];
};

/* Arguments from `first`: stride padding dilation transposed; groups stands at its own number. */
static bool convolution_of(struct tc_eval *e, const struct tc_plan_tensor *x,
                           const struct tc_plan_tensor *w, unsigned first, struct convolution *c)
{
    if (!x || !w || x->n_dims < 3 || x->n_dims > 2 + MAX_SPACE || w->n_dims != x->n_dims) {
        tc_eval_fail(e, "sizes that do not fit");
        return false;
    }
    *c = (struct convolution){.samples = x->sizes[0],
                              .in = x->sizes[1],
                              .out = w->sizes[0],
                              .groups = tc_eval_int(e, first + 4, 1),
                              .n = x->n_dims - 2};
    if (c->groups < 1 || c->in % c->groups || c->out % c->groups ||
        w->sizes[1] != c->in / c->groups)
        tc_eval_fail(e, "channels that do not fit");
    for (unsigned d = 0; d < MAX_SPACE; d++) {
        bool is_real = d < c->n;
        c->x[d] = is_real ? x->sizes[2 + d] : 1;
        c->k[d] = is_real ? w->sizes[2 + d] : 1;
        c->stride[d] = is_real ? tc_eval_item(e, first, d, 1) : 1;
        c->padding[d] = is_real ? tc_eval_item(e, first + 1, d, 0) : 0;
        c->dilation[d] = is_real ? tc_eval_item(e, first + 2, d, 1) : 1;
        if (c->stride[d] < 1)
            tc_eval_fail(e, "a stride below 1");
        else
            c->y[d] =
                (c->x[d] + 2 * c->padding[d] - c->dilation[d] * (c->k[d] - 1) - 1) / c->stride[d] +
                1;
        if (c->y[d] < 0)
            tc_eval_fail(e, "a kernel larger than its input");
    }
    return !*e->failure;
}

static int64_t volume(const int64_t *sizes)
{
    return sizes[0] * sizes[1] * sizes[2];
}

/* Position `at` of sizes as three numbers. */
static void split(int64_t at, const int64_t *sizes, int64_t *to)
{
    for (int d = MAX_SPACE; d-- > 0; at /= sizes[d])
        to[d] = at % sizes[d];
}

/* The input position that output position p and kernel position q meet at; -1 in the padding. */
static int64_t meets(const struct convolution *c, int64_t p, int64_t q)
{
    int64_t y[MAX_SPACE], k[MAX_SPACE], at = 0;

    split(p, c->y, y);
    split(q, c->k, k);
    for (int d = 0; d < MAX_SPACE; d++) {
        int64_t x = y[d] * c->stride[d] - c->padding[d] + k[d] * c->dilation[d];
        if (x < 0 || x >= c->x[d])
            return -1;
        at = at * c->x[d] + x;
    }
    return at;
}

/* Whichever of the three is written takes the product of the others. */
struct operands {
    const tc_el *x, *w, *y;
    tc_el *to_x, *to_w, *to_y;
};

static void add_product(tc_el *to, tc_el a, tc_el b)
{
    *to = tc_el_add(*to, tc_el_mul(a, b));
}

static void run_at(const struct convolution *c, const struct operands *o, int64_t sample, int64_t p,
                   int64_t q)
{
    int64_t in = c->in / c->groups, out = c->out / c->groups, at = meets(c, p, q);

    for (int64_t f = 0; f < c->out && at >= 0; f++)
        for (int64_t i = 0; i < in; i++) {
            int64_t xi = (sample * c->in + f / out * in + i) * volume(c->x) + at;
            int64_t wi = (f * in + i) * volume(c->k) + q;
            int64_t yi = (sample * c->out + f) * volume(c->y) + p;
            if (o->to_y)
                add_product(&o->to_y[yi], o->x[xi], o->w[wi]);
            if (o->to_x)
                add_product(&o->to_x[xi], o->y[yi], o->w[wi]);
            if (o->to_w)
                add_product(&o->to_w[wi], o->y[yi], o->x[xi]);
        }
}

static void run_all(const struct convolution *c, const struct operands *o)
{
    for (int64_t sample = 0; sample < c->samples; sample++)
        for (int64_t p = 0; p < volume(c->y); p++)
            for (int64_t q = 0; q < volume(c->k); q++)
                run_at(c, o, sample, p, q);
}

/* Windows over `large` with an element of `small` for each; arguments as in convolution_of. */
static bool fit_to(struct tc_eval *e, const struct tc_plan_tensor *large,
                   const struct tc_plan_tensor *small, const struct tc_plan_tensor *w,
                   unsigned first, struct convolution *c)
{
    if (convolution_of(e, large, w, first, c) &&
        (!small || small->numel != c->samples * c->out * volume(c->y)))
        tc_eval_fail(e, "a tensor of another size");
    return !*e->failure;
}

/* input weight bias stride padding dilation transposed groups */
static void run_convolution(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 0), *w = tc_eval_tensor(e, 1),
                                *bias = tc_eval_tensor(e, 2), *out = tc_eval_out(e, 0);
    bool is_transposed = tc_eval_bool(e, 6, false);
    struct convolution c;

    if (!fit_to(e, is_transposed ? out : x, is_transposed ? x : out, w, 3, &c))
        return;
    size_t n = (size_t)out->numel;
    size_t channels = (size_t)(is_transposed ? c.in : c.out),
           inner = (size_t)volume(is_transposed ? c.x : c.y);
    const tc_el *from = tc_eval_read(e, x);
    tc_el *to = tc_eval_zeros(e, n);
    struct operands o = {.w = tc_eval_read(e, w)};
    *(is_transposed ? &o.y : &o.x) = from;
    *(is_transposed ? &o.to_x : &o.to_y) = to;
    run_all(&c, &o);
    if (bias && (size_t)bias->numel != channels)
        tc_eval_fail(e, "a bias of another size");
    else if (bias) {
        const tc_el *b = tc_eval_read(e, bias);
        for (size_t i = 0; i < n; i++)
            to[i] = tc_el_add(to[i], b[i / inner % channels]);
    }
    tc_eval_write(e, 0, to, n);
}

/* grad_output input weight, then as in the forward */
static void run_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *x = tc_eval_tensor(e, 1),
                                *w = tc_eval_tensor(e, 2);
    bool is_transposed = tc_eval_bool(e, 6, false);
    struct convolution c;

    if (!fit_to(e, is_transposed ? g : x, is_transposed ? x : g, w, 3, &c))
        return;
    int64_t channels = is_transposed ? c.in : c.out, inner = volume(is_transposed ? c.x : c.y);
    const tc_el *given = tc_eval_read(e, g), *from = tc_eval_read(e, x);
    tc_el *to = tc_eval_zeros(e, (size_t)x->numel), *to_bias = tc_eval_zeros(e, (size_t)channels);
    struct operands o = {.x = is_transposed ? given : from,
                         .y = is_transposed ? from : given,
                         .w = tc_eval_read(e, w),
                         .to_w = tc_eval_zeros(e, (size_t)w->numel)};
    *(is_transposed ? &o.to_y : &o.to_x) = to;
    run_all(&c, &o);
    for (int64_t i = 0; i < g->numel; i++) {
        tc_el *p = &to_bias[i / inner % channels];
        *p = tc_el_add(*p, given[i]);
    }
    tc_eval_write(e, 0, to, (size_t)x->numel);
    tc_eval_write(e, 1, o.to_w, (size_t)w->numel);
    tc_eval_write(e, 2, to_bias, (size_t)channels);
}

const struct tc_rule tc_rules_convolution[] = {
    {"aten.convolution", "input weight bias stride padding dilation transposed groups",
     run_convolution, TC_RULE_PLAIN, 0, 0},
    {"aten.convolution_backward",
     "grad_output input weight stride padding dilation transposed groups", run_backward,
     TC_RULE_PLAIN, 0, 0},
    {0                },
};
