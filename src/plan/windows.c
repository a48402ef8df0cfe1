/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.c - where windows over planes begin, and what they cover
 */
#include "plan/windows.h"

int64_t tc_plan_windows_volume(const int64_t *sizes)
{
    return sizes[0] * sizes[1] * sizes[2];
}

bool tc_plan_windows_over(struct tc_eval *e, const struct tc_plan_tensor *x,
                          const struct tc_plan_tensor *y, unsigned n_dims,
                          struct tc_plan_windows *w)
{
    if (!x || !y || x->n_dims <= n_dims || y->n_dims != x->n_dims ||
        tc_eval_span(x, 0, x->n_dims - n_dims) != tc_eval_span(y, 0, y->n_dims - n_dims)) {
        tc_eval_fail(e, "sizes that do not fit");
        return false;
    }
    unsigned first = x->n_dims - n_dims;
    *w = (struct tc_plan_windows){.planes = (int64_t)tc_eval_span(x, 0, first)};
    for (unsigned d = 0; d < TC_WINDOW_DIMS; d++) {
        bool is_there = d + n_dims >= TC_WINDOW_DIMS;
        unsigned own = is_there ? first + d + n_dims - TC_WINDOW_DIMS : 0;
        w->in[d] = is_there ? x->sizes[own] : 1;
        w->out[d] = is_there ? y->sizes[own] : 1;
    }
    return true;
}

/* Sizes of a file: windows larger than the padded input are none. */
static bool fits(const struct tc_plan_windows *w, unsigned d)
{
    return w->stride[d] > 0 && w->dilation[d] > 0 && w->dilation[d] <= w->in[d] &&
           w->kernel[d] > 0 && w->padding[d] >= 0 && w->padding[d] <= w->in[d] &&
           w->kernel[d] <= w->in[d] + 2 * w->padding[d];
}

static int64_t argument(const struct tc_eval *e, unsigned i, size_t item, int64_t fallback)
{
    return i ? tc_eval_item(e, i, item, fallback) : fallback;
}

bool tc_plan_windows_lie(struct tc_eval *e, const struct tc_plan_window_arguments *arguments,
                         unsigned n_dims, struct tc_plan_windows *w)
{
    for (unsigned d = 0; d < TC_WINDOW_DIMS; d++) {
        bool is_there = d + n_dims >= TC_WINDOW_DIMS;
        size_t own = is_there ? d + n_dims - TC_WINDOW_DIMS : 0;
        w->kernel[d] = is_there ? argument(e, arguments->kernel, own, 1) : 1;
        w->stride[d] = is_there ? argument(e, arguments->stride, own, w->kernel[d]) : 1;
        w->padding[d] = is_there ? argument(e, arguments->padding, own, 0) : 0;
        w->dilation[d] = is_there ? argument(e, arguments->dilation, own, 1) : 1;
        if (!fits(w, d))
            tc_eval_fail(e, "windows that do not fit");
    }
    return !*e->failure;
}

struct tc_plan_window tc_plan_window_at(const struct tc_plan_windows *w, int64_t o)
{
    struct tc_plan_window a = {.n = 1};

    for (unsigned d = TC_WINDOW_DIMS; d-- > 0; o /= w->out[d]) {
        int64_t i = o % w->out[d], n = w->out[d];
        a.begin[d] = w->is_adaptive ? i * w->in[d] / n : i * w->stride[d] - w->padding[d];
        a.count[d] = w->is_adaptive ? ((i + 1) * w->in[d] + n - 1) / n - a.begin[d] : w->kernel[d];
        a.n *= a.count[d];
    }
    return a;
}

int64_t tc_plan_window_place(const struct tc_plan_windows *w, const struct tc_plan_window *a,
                             int64_t k)
{
    int64_t place = 0, step = 1;

    for (unsigned d = TC_WINDOW_DIMS; d-- > 0; k /= a->count[d]) {
        int64_t at = a->begin[d] + k % a->count[d] * (w->is_adaptive ? 1 : w->dilation[d]);
        if (at < 0 || at >= w->in[d])
            return -1;
        place += at * step;
        step *= w->in[d];
    }
    return place;
}
