/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_loss.c - losses whose kernels torch has fused, and their gradients
 *
 * A loss and its gradient share classes, weights and reduction. The element loss is a function
 * of input and target; its slope is another function of the same.
 */
#include "plan/eval.h"

#include <string.h>

/* torch's numbers for reduction=. */
enum reduction {
    NONE,
    MEAN,
    SUM
};

/* ---- nll_loss: classes are dimension 1 of [N, C, ...], or the only one of [C] --------------- */

struct classes {
    size_t samples, n, inner; /* samples * inner targets */
    const tc_el *target, *weight;
    int64_t ignored;
};

static bool classes_of(struct tc_eval *e, const struct tc_plan_tensor *x, unsigned first,
                       struct classes *c)
{
    const struct tc_plan_tensor *target = tc_eval_tensor(e, first),
                                *weight = tc_eval_tensor(e, first + 1);

    if (!x || !target || x->n_dims == 0)
        return false;
    unsigned d = x->n_dims == 1 ? 0 : 1;
    *c = (struct classes){.samples = d ? (size_t)x->sizes[0] : 1,
                          .n = (size_t)x->sizes[d],
                          .inner = tc_eval_span(x, d + 1, x->n_dims),
                          .target = tc_eval_read(e, target),
                          .weight = weight ? tc_eval_read(e, weight) : NULL,
                          .ignored = tc_eval_int(e, first + 3, -100)};
    if ((size_t)target->numel != c->samples * c->inner || (weight && (size_t)weight->numel != c->n))
        tc_eval_fail(e, "targets or weights of another size");
    return !*e->failure;
}

/* The class of target k, or -1 if it is ignored. */
static int64_t class_at(struct tc_eval *e, const struct classes *c, size_t k)
{
    int64_t t = tc_eval_index(c->target[k]);

    if (t == c->ignored)
        return -1;
    if (t >= 0 && (size_t)t < c->n)
        return t;
    tc_eval_fail(e, "a target that is no class");
    return -1;
}

static tc_el weight_of(const struct classes *c, int64_t class)
{
    return c->weight ? c->weight[class] : TC_EL_ONE;
}

/* self target weight reduction ignore_index; outputs loss, total_weight. */
static void run_nll(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 0);
    enum reduction how = (enum reduction)tc_eval_int(e, 3, MEAN);
    struct classes c;

    if (!classes_of(e, x, 1, &c))
        return;
    const tc_el *p = tc_eval_read(e, x);
    size_t n = c.samples * c.inner;
    tc_el *each = tc_eval_new(e, n), total = TC_EL_ZERO;
    for (size_t k = 0; k < n && !*e->failure; k++) {
        int64_t class = class_at(e, &c, k);
        each[k] = TC_EL_ZERO;
        if (class < 0)
            continue;
        tc_el w = weight_of(&c, class);
        each[k] = tc_el_neg(
            tc_el_mul(w, p[(k / c.inner * c.n + (size_t) class) * c.inner + k % c.inner]));
        total = tc_el_add(total, w);
    }
    if (how == NONE) {
        tc_eval_write(e, 0, each, n);
        return;
    }
    tc_el sum = tc_el_sum(each, 1, n);
    sum = how == MEAN ? tc_el_mul(sum, tc_el_inv(total)) : sum;
    tc_eval_write(e, 0, &sum, 1);
    if (tc_eval_out(e, 1))
        tc_eval_write(e, 1, &total, 1);
}

/* grad_output self target weight reduction ignore_index total_weight */
static void run_nll_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *x = tc_eval_tensor(e, 1);
    enum reduction how = (enum reduction)tc_eval_int(e, 4, MEAN);
    struct classes c;

    if (!g || !classes_of(e, x, 2, &c))
        return;
    const tc_el *from = tc_eval_read(e, g);
    size_t n = c.samples * c.inner, step = how == NONE ? 1 : 0;
    tc_el *to = tc_eval_new(e, (size_t)x->numel),
          scale = how == MEAN ? tc_el_inv(tc_eval_scalar(e, 6, 1)) : TC_EL_ONE;
    if (g->numel != (how == NONE ? (int64_t)n : 1))
        tc_eval_fail(e, "a gradient of another size");
    for (int64_t i = 0; i < x->numel; i++)
        to[i] = TC_EL_ZERO;
    for (size_t k = 0; k < n && !*e->failure; k++) {
        int64_t class = class_at(e, &c, k);
        if (class < 0)
            continue;
        tc_el w = tc_el_mul(weight_of(&c, class), scale);
        to[(k / c.inner * c.n + (size_t) class) * c.inner + k % c.inner] =
            tc_el_neg(tc_el_mul(w, from[k * step]));
    }
    tc_eval_write(e, 0, to, (size_t)x->numel);
}

/* ---- losses of two tensors, element by element --------------------------------------------- */

enum pairwise {
    SQUARED,
    WITH_LOGITS,
    SMOOTH_L1, /* a function of the difference, as HUBER is */
    HUBER,
    CROSS_ENTROPY, /* of probabilities */
    SOFT_MARGIN,
};

/* The function that a loss or its slope applies; argument `last` is beta or delta. */
static struct tc_function function_of(const struct tc_eval *e, enum pairwise kind, bool is_slope,
                                      unsigned last)
{
    if (kind == SMOOTH_L1 || kind == HUBER)
        return tc_eval_function(e, is_slope ? TC_FN_HUBER_SLOPE : TC_FN_HUBER, kind == HUBER,
                                tc_eval_number(e, last, 1), 0);
    if (kind == CROSS_ENTROPY)
        return tc_eval_function(e, TC_FN_LOG, 0, 0, 0);
    if (is_slope)
        return tc_eval_function(e, TC_FN_SIGMOID, 0, 0, 0);
    return tc_eval_function(e, TC_FN_SOFTPLUS, 0, 1, 20);
}

static tc_el loss_at(enum pairwise kind, const struct tc_function *f, tc_el x, tc_el y)
{
    tc_el d = tc_el_sub(x, y);

    if (kind == SQUARED)
        return tc_el_mul(d, d);
    if (kind == SMOOTH_L1 || kind == HUBER)
        return tc_el_apply(f, d);
    if (kind == SOFT_MARGIN)
        return tc_el_apply(f, tc_el_neg(tc_el_mul(x, y)));
    if (kind == CROSS_ENTROPY)
        return tc_el_neg(
            tc_el_add(tc_el_mul(y, tc_el_apply(f, x)),
                      tc_el_mul(tc_el_sub(TC_EL_ONE, y), tc_el_apply(f, tc_el_sub(TC_EL_ONE, x)))));
    /* softplus(x) - x * y */
    return tc_el_sub(tc_el_apply(f, x), tc_el_mul(x, y));
}

static tc_el slope_at(enum pairwise kind, const struct tc_function *f, tc_el x, tc_el y)
{
    tc_el d = tc_el_sub(x, y);

    if (kind == SQUARED)
        return tc_el_mul(tc_el_int(2), d);
    if (kind == SMOOTH_L1 || kind == HUBER)
        return tc_el_apply(f, d);
    if (kind == SOFT_MARGIN)
        return tc_el_neg(tc_el_mul(y, tc_el_apply(f, tc_el_neg(tc_el_mul(x, y)))));
    return tc_el_mul(d, tc_el_inv(tc_el_mul(x, tc_el_sub(TC_EL_ONE, x))));
}

/* self target reduction, weights that are not covered, beta or delta */
static void run_loss(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 0);
    enum reduction how = (enum reduction)tc_eval_int(e, 2, MEAN);
    enum pairwise kind = (enum pairwise)e->op->rule->variant;
    struct tc_function f = function_of(e, kind, false, 5);

    if (!x || tc_eval_has(e, 3) || tc_eval_has(e, 4)) {
        tc_eval_fail(e, "weights");
        return;
    }
    size_t n = (size_t)x->numel;
    struct tc_operand a = tc_eval_operand(e, 0, x), b = tc_eval_operand(e, 1, x);
    tc_el *each = tc_eval_new(e, n);
    for (size_t i = 0; i < n && !*e->failure; i++)
        each[i] = loss_at(kind, &f, a.p[i * a.step], b.p[i * b.step]);
    if (how == NONE) {
        tc_eval_write(e, 0, each, n);
        return;
    }
    tc_el sum = tc_el_sum(each, 1, n);
    sum = how == MEAN ? tc_el_mul(sum, tc_el_inv(tc_el_int((int64_t)n))) : sum;
    tc_eval_write(e, 0, &sum, 1);
}

/* grad_output self target reduction, a weight that is not covered, beta or delta */
static void run_loss_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, 1);
    enum pairwise kind = (enum pairwise)e->op->rule->variant;
    struct tc_function f = function_of(e, kind, true, 5);
    bool is_mean = tc_eval_int(e, 3, MEAN) == MEAN;

    if (!x || tc_eval_has(e, 4)) {
        tc_eval_fail(e, "weights");
        return;
    }
    size_t n = (size_t)x->numel;
    struct tc_operand g = tc_eval_operand(e, 0, x), a = tc_eval_operand(e, 1, x),
                      b = tc_eval_operand(e, 2, x);
    tc_el *to = tc_eval_new(e, n), scale = is_mean ? tc_el_inv(tc_el_int((int64_t)n)) : TC_EL_ONE;
    for (size_t i = 0; i < n && !*e->failure; i++) {
        tc_el slope = slope_at(kind, &f, a.p[i * a.step], b.p[i * b.step]);
        to[i] = tc_el_mul(tc_el_mul(scale, slope), g.p[i * g.step]);
    }
    tc_eval_write(e, 0, to, n);
}

const struct tc_rule tc_rules_loss[] = {
    {"aten.nll_loss_forward",                                              "self target weight reduction ignore_index", run_nll, TC_RULE_PLAIN,
     0, 0},
    {"aten.nll_loss2d_forward",                                                             "self target weight reduction ignore_index", run_nll, TC_RULE_PLAIN,
     0, 0},
    {"aten.nll_loss_backward",                                                                    "grad_output self target weight reduction ignore_index total_weight",
     run_nll_backward, TC_RULE_PLAIN, 0, 0},
    {"aten.nll_loss2d_backward",
     "grad_output self target weight reduction ignore_index total_weight", run_nll_backward,
     TC_RULE_PLAIN, 0, 0},
    {"aten.mse_loss","self target reduction", run_loss, TC_RULE_PLAIN, SQUARED, 0},
    {"aten.mse_loss_backward",                                                       "grad_output self target reduction", run_loss_backward,
     TC_RULE_PLAIN, 0, 0},
    {"aten.binary_cross_entropy_with_logits",                                                                   "self target reduction weight pos_weight", run_loss,
     TC_RULE_PLAIN, WITH_LOGITS, 0},
    {"aten.smooth_l1_loss",                                             "self target reduction - - beta", run_loss, TC_RULE_PLAIN, SMOOTH_L1,
     0},
    {"aten.huber_loss",                                                     "self target reduction - - delta", run_loss, TC_RULE_PLAIN, HUBER, 0},
    {"aten.binary_cross_entropy",                                                                   "self target reduction weight", run_loss, TC_RULE_PLAIN,
     CROSS_ENTROPY, 0},
    {"aten.soft_margin_loss",                                                                    "self target reduction", run_loss, TC_RULE_PLAIN, SOFT_MARGIN, 0},
    {"aten.smooth_l1_loss_backward", "grad_output self target reduction - beta", run_loss_backward,
     TC_RULE_PLAIN, SMOOTH_L1, 0},
    {"aten.huber_loss_backward",                                                        "grad_output self target reduction - delta", run_loss_backward,
     TC_RULE_PLAIN, HUBER, 0},
    {"aten.binary_cross_entropy_backward",                                                                   "grad_output self target reduction weight",
     run_loss_backward, TC_RULE_PLAIN, CROSS_ENTROPY, 0},
    {"aten.soft_margin_loss_backward",                                                      "grad_output self target reduction", run_loss_backward,
     TC_RULE_PLAIN, SOFT_MARGIN, 0},
    {0                                                           },
};
