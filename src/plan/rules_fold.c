/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_fold.c - windows of images as columns, and columns summed into images: torch.nn.Unfold and
 * torch.nn.Fold, each the gradient of the other; and the distances of all pairs of rows
 *
 * One walk over the windows does both ways: an element of the image and one of the columns belong
 * together, and one of them is added to the other.
 */
#include "plan/windows.h"

/* ---- windows as columns: [.., channels, h, w] and [.., channels * kernel, windows] ----------- */

/* The number of windows along each dimension. */
static bool count_windows(struct tc_eval *e, struct tc_plan_windows *w, int64_t columns)
{
    for (unsigned d = 0; d < TC_WINDOW_DIMS; d++) {
        int64_t covered = w->dilation[d] * (w->kernel[d] - 1) + 1;
        w->out[d] = (w->in[d] + 2 * w->padding[d] - covered) / w->stride[d] + 1;
        if (w->in[d] + 2 * w->padding[d] < covered)
            tc_eval_fail(e, "windows that do not fit");
    }
    if (!*e->failure &&
        columns != w->planes * tc_plan_windows_volume(w->kernel) * tc_plan_windows_volume(w->out))
        tc_eval_fail(e, "columns that do not fit");
    return !*e->failure;
}

/* self kernel_size dilation padding stride; variant 1: columns to an image */
static void run_columns(struct tc_eval *e)
{
    static const struct tc_plan_window_arguments arguments = {1, 4, 3, 2};
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    bool is_back = e->op->rule->variant;
    const struct tc_plan_tensor *image = is_back ? out : t, *columns = is_back ? t : out;
    struct tc_plan_windows w;

    if (!columns || !tc_plan_windows_over(e, image, image, 2, &w) ||
        !tc_plan_windows_lie(e, &arguments, 2, &w) || !count_windows(e, &w, columns->numel))
        return;
    int64_t kernel = tc_plan_windows_volume(w.kernel), each = tc_plan_windows_volume(w.out),
            plane = tc_plan_windows_volume(w.in);
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_zeros(e, (size_t)out->numel);
    for (int64_t i = 0; i < w.planes * each; i++) {
        struct tc_plan_window a = tc_plan_window_at(&w, i % each);
        for (int64_t k = 0; k < kernel; k++) {
            int64_t at = tc_plan_window_place(&w, &a, k), x = i / each * plane + at;
            int64_t column = (i / each * kernel + k) * each + i % each;
            if (at < 0)
                continue;
            tc_el *add = &to[is_back ? x : column];
            *add = tc_el_add(*add, from[is_back ? column : x]);
        }
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* ---- pdist: the distance of each pair of rows ------------------------------------------------ */

static bool is_euclidean(struct tc_eval *e, const struct tc_plan_tensor *x, unsigned p)
{
    if (!x || x->n_dims != 2 || tc_eval_number(e, p, 2) != 2)
        tc_eval_fail(e, "distances that are not Euclidean");
    return !*e->failure;
}

/* self p */
static void run_pdist(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 0);
    struct tc_function root = tc_eval_function(e, TC_FN_SQRT, 0, 0, 0);

    if (!is_euclidean(e, x, 1))
        return;
    size_t rows = (size_t)x->sizes[0], width = (size_t)x->sizes[1], n = 0;
    const tc_el *from = tc_eval_read(e, x);
    tc_el *to = tc_eval_new(e, rows * rows);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = i + 1; j < rows; j++) {
            tc_el sum = TC_EL_ZERO;
            for (size_t c = 0; c < width; c++)
                sum = tc_el_add(sum,
                                tc_el_square(tc_el_sub(from[i * width + c], from[j * width + c])));
            to[n++] = tc_el_sqrt(&root, sum);
        }
    tc_eval_write(e, 0, to, n);
}

/* grad self p pdist: grad * (x[i] - x[j]) / distance, 0 where that is 0 */
static void run_pdist_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *x = tc_eval_tensor(e, 1),
                                *d = tc_eval_tensor(e, 3);

    if (!is_euclidean(e, x, 2))
        return;
    size_t rows = (size_t)x->sizes[0], width = (size_t)x->sizes[1], n = 0;
    if (!g || !d || g->numel != d->numel || 2 * (size_t)d->numel != rows * (rows - 1)) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    const tc_el *from = tc_eval_read(e, x), *given = tc_eval_read(e, g);
    const tc_el *distance = tc_eval_read(e, d);
    tc_el *to = tc_eval_zeros(e, rows * width);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = i + 1; j < rows; j++, n++) {
            bool is_zero = tc_el_same(distance[n], TC_EL_ZERO);
            tc_el by = is_zero ? TC_EL_ZERO : tc_el_mul(given[n], tc_el_inv(distance[n]));
            for (size_t c = 0; c < width; c++) {
                tc_el part = tc_el_mul(by, tc_el_sub(from[i * width + c], from[j * width + c]));
                to[i * width + c] = tc_el_add(to[i * width + c], part);
                to[j * width + c] = tc_el_sub(to[j * width + c], part);
            }
        }
    tc_eval_write(e, 0, to, rows * width);
}

const struct tc_rule tc_rules_fold[] = {
    {"aten.im2col",                               "self kernel_size dilation padding stride", run_columns, TC_RULE_PLAIN, 0, 0},
    {"aten.col2im",                                "self kernel_size dilation padding stride", run_columns, TC_RULE_PLAIN, 1, 0},
    {"aten._pdist_forward",                                          "self p", run_pdist, TC_RULE_PLAIN, 0, 0},
    {"aten._pdist_backward",                                           "grad self p pdist", run_pdist_backward, TC_RULE_PLAIN, 0, 0},
    {0},
};
