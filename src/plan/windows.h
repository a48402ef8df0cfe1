/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.h - windows of one to three dimensions over planes: of poolings and of torch.nn.Unfold
 *
 * A tensor [.., depth, height, width] is a row of planes. A dimension that is not there has size 1.
 */
#ifndef TC_PLAN_WINDOWS_H
#define TC_PLAN_WINDOWS_H

#include "plan/eval.h"

#define TC_WINDOW_DIMS 3

struct tc_plan_windows {
    int64_t planes, in[TC_WINDOW_DIMS], out[TC_WINDOW_DIMS];
    int64_t kernel[TC_WINDOW_DIMS], stride[TC_WINDOW_DIMS], padding[TC_WINDOW_DIMS],
        dilation[TC_WINDOW_DIMS];
    bool is_adaptive; /* window i of n begins at i / n of the input, and ends at (i + 1) / n */
};

/* Numbers of the arguments of an operator that say how windows lie; 0: it has none. */
struct tc_plan_window_arguments {
    unsigned kernel, stride, padding, dilation;
};

/* The sizes of planes: x is what windows lie over, y has an element for each window. The operator
 * fails, and false is returned, if they do not fit. */
bool tc_plan_windows_over(struct tc_eval *e, const struct tc_plan_tensor *x,
                          const struct tc_plan_tensor *y, unsigned n_dims,
                          struct tc_plan_windows *w);
/* How windows of n_dims dimensions lie. */
bool tc_plan_windows_lie(struct tc_eval *e, const struct tc_plan_window_arguments *arguments,
                         unsigned n_dims, struct tc_plan_windows *w);

int64_t tc_plan_windows_volume(const int64_t *sizes);

/* The window of one output of a plane. */
struct tc_plan_window {
    int64_t begin[TC_WINDOW_DIMS], count[TC_WINDOW_DIMS]; /* begin < 0: in the padding */
    int64_t n;                                            /* positions */
};

struct tc_plan_window tc_plan_window_at(const struct tc_plan_windows *w, int64_t o);
/* Position k of a window as a place in its plane; -1 in the padding. */
int64_t tc_plan_window_place(const struct tc_plan_windows *w, const struct tc_plan_window *a,
                             int64_t k);

#endif /* TC_PLAN_WINDOWS_H */
