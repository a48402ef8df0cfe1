/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_volume.c - means over windows of three dimensions, and their gradients
 */
#include "plan/eval.h"

struct windows {
    int64_t planes, in[3], out[3], kernel[3], stride[3], padding[3];
    bool counts_padding;
    int64_t divisor; /* 0: the elements of the window */
};

static bool windows_of(struct tc_eval *e, const struct tc_plan_tensor *x,
                       const struct tc_plan_tensor *y, unsigned first, struct windows *w)
{
    if (!x || !y || x->n_dims < 4 || x->n_dims != y->n_dims ||
        tc_eval_span(x, 0, x->n_dims - 3) != tc_eval_span(y, 0, x->n_dims - 3)) {
        tc_eval_fail(e, "sizes that do not fit");
        return false;
    }
    unsigned n = x->n_dims - 3;
    *w = (struct windows){.planes = (int64_t)tc_eval_span(x, 0, n),
                          .counts_padding = tc_eval_bool(e, first + 4, true),
                          .divisor = tc_eval_int(e, first + 5, 0)};
    for (unsigned d = 0; d < 3; d++) {
        w->in[d] = x->sizes[n + d];
        w->out[d] = y->sizes[n + d];
        w->kernel[d] = tc_eval_item(e, first, d, 1);
        w->stride[d] = tc_eval_item(e, first + 1, d, w->kernel[d]);
        w->padding[d] = tc_eval_item(e, first + 2, d, 0);
        if (w->stride[d] < 1 || w->kernel[d] < 1 || w->padding[d] < 0 || w->padding[d] > w->in[d] ||
            w->kernel[d] > w->in[d] + 2 * w->padding[d])
            tc_eval_fail(e, "windows that do not fit");
    }
    return !*e->failure;
}

/* The window of one output: from begin to end within the input. */
struct window {
    int64_t begin[3], end[3], n, padded; /* elements, without and with the padding */
};

static struct window window_at(const struct windows *w, int64_t o)
{
    struct window a = {.n = 1, .padded = 1};

    for (unsigned d = 3; d-- > 0; o /= w->out[d]) {
        int64_t begin = o % w->out[d] * w->stride[d] - w->padding[d], end = begin + w->kernel[d];
        end = end < w->in[d] + w->padding[d] ? end : w->in[d] + w->padding[d];
        a.padded *= end - begin;
        a.begin[d] = begin > 0 ? begin : 0;
        a.end[d] = end < w->in[d] ? end : w->in[d];
        a.n *= a.end[d] > a.begin[d] ? a.end[d] - a.begin[d] : 0;
    }
    return a;
}

/* Element k of a window, as a place in its plane. */
static int64_t place_in(const struct windows *w, const struct window *a, int64_t k)
{
    int64_t place = 0, step = 1;

    for (unsigned d = 3; d-- > 0;) {
        int64_t size = a->end[d] - a->begin[d];
        place += (a->begin[d] + k % size) * step;
        step *= w->in[d];
        k /= size;
    }
    return place;
}

/* self kernel_size stride padding ceil_mode count_include_pad divisor_override
 * variant 1: grad_output before self, spread over the windows. */
static void run_avg_pool3d(struct tc_eval *e)
{
    const unsigned is_back = (unsigned)e->op->rule->variant;
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *y = tc_eval_out(e, 0);
    struct windows w;

    if (!windows_of(e, is_back ? y : t, is_back ? t : y, 1 + is_back, &w))
        return;
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_new(e, (size_t)y->numel);
    for (int64_t i = 0; i < y->numel; i++)
        to[i] = TC_EL_ZERO;
    int64_t each = w.out[0] * w.out[1] * w.out[2], plane = w.in[0] * w.in[1] * w.in[2];
    for (int64_t o = 0; o < w.planes * each; o++) {
        struct window a = window_at(&w, o % each);
        int64_t n = w.divisor ? w.divisor : w.counts_padding ? a.padded : a.n;
        tc_el share = n ? tc_el_inv(tc_el_int(n)) : TC_EL_ZERO;
        for (int64_t k = 0; k < a.n; k++) {
            int64_t x = o / each * plane + place_in(&w, &a, k);
            tc_el *add = &to[is_back ? x : o];
            *add = tc_el_add(*add, tc_el_mul(share, from[is_back ? o : x]));
        }
    }
    tc_eval_write(e, 0, to, (size_t)y->numel);
}

const struct tc_rule tc_rules_volume[] = {
    {"aten.avg_pool3d",
     "self kernel_size stride padding ceil_mode count_include_pad divisor_override", run_avg_pool3d,
     TC_RULE_PLAIN, 0, 0},
    {"aten.avg_pool3d_backward",
     "grad_output self kernel_size stride padding ceil_mode count_include_pad divisor_override", run_avg_pool3d, TC_RULE_PLAIN, 1, 0},
    {0               },
};
