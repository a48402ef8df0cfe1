/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_pool.c - poolings over two and three dimensions, and their gradients
 *
 * A window is walked in the input, without the padding. The plan holds the positions of maxima,
 * so a gradient needs no order of elements.
 */
#include "plan/windows.h"

/* A rule's variant is the number of dimensions, its extra the kind. */
enum kind {
    FORWARD,
    BACKWARD, /* grad_output stands before self, or in its place */
    ADAPTIVE, /* pooled to a size */
    ADAPTIVE_BACKWARD,
};

static bool is_adaptive(const struct tc_eval *e)
{
    return e->op->rule->extra >= ADAPTIVE;
}

/* Windows over x with an element of y for each. */
static bool windows_of(struct tc_eval *e, const struct tc_plan_tensor *x,
                       const struct tc_plan_tensor *y,
                       const struct tc_plan_window_arguments *arguments, struct tc_plan_windows *w)
{
    unsigned n_dims = (unsigned)e->op->rule->variant;

    if (!tc_plan_windows_over(e, x, y, n_dims, w))
        return false;
    w->is_adaptive = is_adaptive(e);
    return w->is_adaptive || tc_plan_windows_lie(e, arguments, n_dims, w);
}

/* ---- the largest ---------------------------------------------------------------------------- */

/* self kernel_size stride padding dilation; adaptive: self. Outputs values and places in planes. */
static void run_largest(struct tc_eval *e)
{
    static const struct tc_plan_window_arguments arguments = {1, 2, 3, 4};
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct tc_plan_windows w;

    if (!windows_of(e, t, out, &arguments, &w))
        return;
    const tc_el *from = tc_eval_read(e, t);
    int64_t each = tc_plan_windows_volume(w.out), plane = tc_plan_windows_volume(w.in);
    size_t n = (size_t)(w.planes * each);
    tc_el *to = tc_eval_new(e, n), *places = tc_eval_new(e, n);
    for (size_t o = 0; o < n; o++) {
        struct tc_plan_window a = tc_plan_window_at(&w, (int64_t)o % each);
        const tc_el *here = from + (int64_t)o / each * plane;
        int64_t best = -1;
        for (int64_t k = 0; k < a.n; k++) {
            int64_t x = tc_plan_window_place(&w, &a, k);
            if (x >= 0 && (best < 0 || tc_el_compare(here[x], here[best]) > 0))
                best = x;
        }
        to[o] = best < 0 ? TC_EL_MINUS : here[best];
        places[o] = tc_el_int(best);
    }
    tc_eval_write(e, 0, to, n);
    tc_eval_write(e, 1, places, n);
}

/* Elements of `from` to their places in planes of the output: added up, or put there. */
static void put_back(struct tc_eval *e, const struct tc_plan_tensor *t,
                     const struct tc_plan_tensor *index, bool adds)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    unsigned n_dims = (unsigned)e->op->rule->variant;

    if (!t || !index || out->n_dims <= n_dims || t->n_dims != out->n_dims ||
        t->numel != index->numel) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    size_t plane = tc_eval_span(out, out->n_dims - n_dims, out->n_dims),
           part = tc_eval_span(t, t->n_dims - n_dims, t->n_dims);
    const tc_el *from = tc_eval_read(e, t), *at = tc_eval_read(e, index);
    tc_el *to = tc_eval_zeros(e, (size_t)out->numel);
    for (size_t i = 0; i < (size_t)t->numel; i++) {
        int64_t x = tc_eval_index(at[i]);
        size_t k = i / part * plane + (size_t)x;
        if (x < 0 || (size_t)x >= plane || k >= (size_t)out->numel) {
            tc_eval_fail(e, "an index outside its plane");
            return;
        }
        to[k] = adds ? tc_el_add(to[k], from[i]) : from[i];
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* grad_output self indices */
static void run_largest_backward(struct tc_eval *e)
{
    put_back(e, tc_eval_tensor(e, 0), tc_eval_tensor(e, 2), true);
}

/* self indices */
static void run_unpool(struct tc_eval *e)
{
    put_back(e, tc_eval_tensor(e, 0), tc_eval_tensor(e, 1), false);
}

/* ---- the mean ------------------------------------------------------------------------------- */

/* How many positions a window covers, the padding on both sides included, and that beyond it left
 * out. */
static int64_t reach(const struct tc_plan_windows *w, const struct tc_plan_window *a)
{
    int64_t n = 1;

    for (unsigned d = 0; d < TC_WINDOW_DIMS; d++) {
        int64_t end = w->in[d] + w->padding[d];
        n *= a->begin[d] + a->count[d] < end ? a->count[d] : end - a->begin[d];
    }
    return n;
}

/* What the sum over a window is divided by: the elements of the input in it, with those of the
 * padding if they count, or what the caller says. `first` is the number of kernel_size. */
static int64_t divisor_of(struct tc_eval *e, const struct tc_plan_windows *w,
                          const struct tc_plan_window *a, unsigned first)
{
    int64_t said = is_adaptive(e) ? 0 : tc_eval_int(e, first + 5, 0), n = 0;

    if (said)
        return said;
    if (is_adaptive(e))
        return a->n;
    if (tc_eval_bool(e, first + 4, true))
        return reach(w, a);
    for (int64_t k = 0; k < a->n; k++)
        n += tc_plan_window_place(w, a, k) >= 0;
    return n;
}

/*
 * self kernel_size stride padding ceil_mode count_include_pad divisor_override; adaptive: self.
 * Backward: grad_output before self, spread over the windows.
 * The means of torch.nn.AvgPool2d:
 * https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html
 */
static void run_mean(struct tc_eval *e)
{
    const unsigned is_back = e->op->rule->extra % 2, first = 1 + is_back;
    const struct tc_plan_window_arguments arguments = {first, first + 1, first + 2, 0};
    const struct tc_plan_tensor *in = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct tc_plan_windows w;

    if (!windows_of(e, is_back ? out : in, is_back ? in : out, &arguments, &w))
        return;
    const tc_el *from = tc_eval_read(e, in);
    const int64_t plane = tc_plan_windows_volume(w.in), each = tc_plan_windows_volume(w.out);
    tc_el *to = tc_eval_zeros(e, (size_t)out->numel);
    for (int64_t o = 0; o < w.planes * each; o++) {
        struct tc_plan_window a = tc_plan_window_at(&w, o % each);
        int64_t n = divisor_of(e, &w, &a, first);
        tc_el share = n ? tc_el_inv(tc_el_int(n)) : TC_EL_ZERO;
        for (int64_t k = 0; k < a.n; k++) {
            int64_t at = tc_plan_window_place(&w, &a, k), x = o / each * plane + at;
            if (at < 0)
                continue;
            tc_el *add = &to[is_back ? x : o];
            *add = tc_el_add(*add, tc_el_mul(share, from[is_back ? o : x]));
        }
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

#define MEAN_ARGS "kernel_size stride padding ceil_mode count_include_pad divisor_override"
#define POOLS(d, n)                                                                         \
    {"aten.max_pool" d "_with_indices",                                                     \
     "self kernel_size stride padding dilation",                                            \
     run_largest,                                                                           \
     TC_RULE_PLAIN,                                                                         \
     n,                                                                                     \
     FORWARD},                                                                              \
        {"aten.max_pool" d "_with_indices_backward",                                        \
         "grad_output self indices",                                                        \
         run_largest_backward,                                                              \
         TC_RULE_PLAIN,                                                                     \
         n,                                                                                 \
         BACKWARD},                                                                         \
        {"aten.adaptive_max_pool" d, "self", run_largest, TC_RULE_PLAIN, n, ADAPTIVE},      \
        {"aten.adaptive_max_pool" d "_backward",                                            \
         "grad_output self indices",                                                        \
         run_largest_backward,                                                              \
         TC_RULE_PLAIN,                                                                     \
         n,                                                                                 \
         ADAPTIVE_BACKWARD},                                                                \
        {"aten.max_unpool" d, "self indices", run_unpool, TC_RULE_PLAIN, n, FORWARD},       \
        {"aten.avg_pool" d, "self " MEAN_ARGS, run_mean, TC_RULE_PLAIN, n, FORWARD},        \
        {"aten.avg_pool" d "_backward",                                                     \
         "grad_output self " MEAN_ARGS,                                                     \
         run_mean,                                                                          \
         TC_RULE_PLAIN,                                                                     \
         n,                                                                                 \
         BACKWARD},                                                                         \
        {"aten._adaptive_avg_pool" d, "self", run_mean, TC_RULE_PLAIN, n, ADAPTIVE},        \
    {                                                                                       \
        "aten._adaptive_avg_pool" d "_backward", "grad_output", run_mean, TC_RULE_PLAIN, n, \
            ADAPTIVE_BACKWARD                                                               \
    }

const struct tc_rule tc_rules_pool[] = {
    POOLS("2d", 2),
    POOLS("3d", 3),
    {0},
};
