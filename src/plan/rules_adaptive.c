/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_adaptive.c - pooling to a size: window i of n begins at i / n of the input and ends at
 * (i + 1) / n of it, rounded outwards
 */
#include "plan/eval.h"

enum adaptive {
    MEAN,
    MEAN_BACKWARD,
    LARGEST
};

/* Planes of h x w elements, in oh x ow windows. */
struct pool {
    int64_t planes, h, w, oh, ow;
};

struct window {
    int64_t top, bottom, left, right;
};

static bool pool_of(struct tc_eval *e, const struct tc_plan_tensor *x,
                    const struct tc_plan_tensor *y, struct pool *p)
{
    if (!x || !y || x->n_dims < 3 || y->n_dims != x->n_dims || !x->numel || !y->numel ||
        tc_eval_span(x, 0, x->n_dims - 2) != tc_eval_span(y, 0, x->n_dims - 2)) {
        tc_eval_fail(e, "sizes that do not fit");
        return false;
    }
    unsigned n = x->n_dims - 2;
    *p = (struct pool){(int64_t)tc_eval_span(x, 0, n), x->sizes[n], x->sizes[n + 1], y->sizes[n],
                       y->sizes[n + 1]};
    return true;
}

static struct window window_at(const struct pool *p, int64_t o)
{
    int64_t i = o / p->ow, j = o % p->ow;

    return (struct window){i * p->h / p->oh, ((i + 1) * p->h + p->oh - 1) / p->oh, j * p->w / p->ow,
                           ((j + 1) * p->w + p->ow - 1) / p->ow};
}

/* The mean of the window, or its gradient to each element. */
static void share(const struct pool *p, const struct window *a, const tc_el *from, tc_el *to,
                  int64_t o, bool is_back)
{
    tc_el part = tc_el_inv(tc_el_int((a->bottom - a->top) * (a->right - a->left)));

    for (int64_t y = a->top; y < a->bottom; y++)
        for (int64_t x = a->left; x < a->right; x++) {
            int64_t at = y * p->w + x;
            tc_el *add = &to[is_back ? at : o];
            *add = tc_el_add(*add, tc_el_mul(part, from[is_back ? o : at]));
        }
}

/* The place of the largest in its plane. */
static int64_t largest(const struct pool *p, const struct window *a, const tc_el *plane)
{
    int64_t best = a->top * p->w + a->left;

    for (int64_t y = a->top; y < a->bottom; y++)
        for (int64_t x = a->left; x < a->right; x++)
            if (tc_el_compare(plane[y * p->w + x], plane[best]) > 0)
                best = y * p->w + x;
    return best;
}

/* self; outputs values and places in the plane */
static void run_largest(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct pool p;

    if (!pool_of(e, t, out, &p))
        return;
    const tc_el *from = tc_eval_read(e, t);
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n), *places = tc_eval_new(e, n);
    for (size_t o = 0; o < n; o++) {
        const tc_el *plane = from + (int64_t)o / (p.oh * p.ow) * p.h * p.w;
        struct window a = window_at(&p, (int64_t)o % (p.oh * p.ow));
        int64_t best = largest(&p, &a, plane);
        to[o] = plane[best];
        places[o] = tc_el_int(best);
    }
    tc_eval_write(e, 0, to, n);
    tc_eval_write(e, 1, places, n);
}

/* self; MEAN_BACKWARD: grad_output */
static void run_mean(struct tc_eval *e)
{
    bool is_back = e->op->rule->variant == MEAN_BACKWARD;
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct pool p;

    if (!pool_of(e, is_back ? out : t, is_back ? t : out, &p))
        return;
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_new(e, (size_t)out->numel);
    for (int64_t i = 0; i < out->numel; i++)
        to[i] = TC_EL_ZERO;
    int64_t each = p.oh * p.ow, plane = p.h * p.w;
    for (int64_t k = 0; k < p.planes * each; k++) {
        struct window a = window_at(&p, k % each);
        int64_t here = k / each;
        share(&p, &a, from + here * (is_back ? each : plane), to + here * (is_back ? plane : each),
              k % each, is_back);
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

const struct tc_rule tc_rules_adaptive[] = {
    {"aten._adaptive_avg_pool2d", "self", run_mean, TC_RULE_PLAIN, MEAN, 0},
    {"aten._adaptive_avg_pool2d_backward",                   "grad_output", run_mean, TC_RULE_PLAIN, MEAN_BACKWARD,
     0},
    {"aten.adaptive_max_pool2d",                       "self", run_largest, TC_RULE_PLAIN, LARGEST, 0},
    {0                          },
};
