/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_optimizer.c - fused optimizer steps, one parameter at a time
 *
 * Their lists are taken apart when a plan is read. They write their arguments.
 */
#include "plan/eval.h"

enum argument {
    SELF,
    GRAD,
    FIRST,  /* exp_avg, momentum buffer */
    SECOND, /* exp_avg_sq */
    LARGEST,
    STEP,
    LR,
    BETA1,
    BETA2,
    DECAY,
    EPS,
    AMSGRAD,
    MAXIMIZE,
    GRAD_SCALE,
    FOUND_INF,
};

static tc_el *changed(struct tc_eval *e, unsigned i, int64_t n)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, i);

    if (!t || t->numel != n) {
        tc_eval_fail(e, "argument %u has another size than the parameter", i);
        return NULL;
    }
    return tc_eval_take(e, t);
}

static void write_back(struct tc_eval *e, unsigned i, const tc_el *p)
{
    if (p && !*e->failure)
        tc_eval_write_tensor(e, tc_eval_tensor(e, i), p);
}

/* The gradient as it enters: unscaled, negated to maximize, with decay that is part of it. */
static void prepare(struct tc_eval *e, tc_el *g, const tc_el *p, size_t n, bool adds_decay)
{
    tc_el decay = tc_eval_scalar(e, DECAY, 0), scale = tc_eval_scalar(e, GRAD_SCALE, 1);
    bool is_maximizing = tc_eval_bool(e, MAXIMIZE, false);

    scale = tc_eval_has(e, GRAD_SCALE) ? tc_el_inv(scale) : TC_EL_ONE;
    for (size_t i = 0; i < n; i++) {
        if (tc_eval_has(e, GRAD_SCALE))
            g[i] = tc_el_mul(g[i], scale);
        if (is_maximizing)
            g[i] = tc_el_neg(g[i]);
        if (adds_decay)
            g[i] = tc_el_add(g[i], tc_el_mul(decay, p[i]));
    }
}

static tc_el mixed(tc_el old, tc_el new, tc_el beta)
{
    return tc_el_add(tc_el_mul(beta, old), tc_el_mul(tc_el_sub(TC_EL_ONE, beta), new));
}

struct adam {
    tc_el lr, beta1, beta2, eps, decay, correction1, root_correction2;
    struct tc_function root;
};

static struct adam adam_of(struct tc_eval *e)
{
    struct adam a = {.lr = tc_eval_scalar(e, LR, 0),
                     .beta1 = tc_eval_scalar(e, BETA1, 0),
                     .beta2 = tc_eval_scalar(e, BETA2, 0),
                     .eps = tc_eval_scalar(e, EPS, 0),
                     .decay = tc_eval_scalar(e, DECAY, 0),
                     .root = tc_eval_function(e, TC_FN_SQRT, 0, 0, 0)};
    int64_t step = tc_el_to_int(tc_eval_scalar(e, STEP, 1));

    if (step < 1 || step > INT64_C(1) << 40)
        tc_eval_fail(e, "a step that is no number");
    else {
        a.correction1 = tc_el_sub(TC_EL_ONE, tc_el_power(a.beta1, (uint64_t)step));
        a.root_correction2 =
            tc_el_sqrt(&a.root, tc_el_sub(TC_EL_ONE, tc_el_power(a.beta2, (uint64_t)step)));
    }
    return a;
}

/* adam: variant 0; adamw, whose decay is apart: 1. */
static void run_adam(struct tc_eval *e)
{
    const struct tc_plan_tensor *self = tc_eval_tensor(e, SELF);
    bool is_apart = e->op->rule->variant;

    if (!self || tc_eval_bool(e, AMSGRAD, false)) {
        tc_eval_fail(e, "amsgrad");
        return;
    }
    size_t n = (size_t)self->numel;
    tc_el *p = changed(e, SELF, self->numel), *g = changed(e, GRAD, self->numel),
          *m = changed(e, FIRST, self->numel), *v = changed(e, SECOND, self->numel);
    struct adam a = adam_of(e);
    if (*e->failure)
        return;
    prepare(e, g, p, n, !is_apart);
    tc_el *divisor = tc_eval_new(e, n);
    tc_el inverse_root = tc_el_inv(a.root_correction2),
          rate = tc_el_mul(a.lr, tc_el_inv(a.correction1)),
          kept = tc_el_sub(TC_EL_ONE, tc_el_mul(a.lr, a.decay));
    for (size_t i = 0; i < n; i++) {
        m[i] = mixed(m[i], g[i], a.beta1);
        v[i] = mixed(v[i], tc_el_square(g[i]), a.beta2);
        divisor[i] = tc_el_add(tc_el_mul(tc_el_sqrt(&a.root, v[i]), inverse_root), a.eps);
    }
    tc_el_invert(divisor, n);
    for (size_t i = 0; i < n; i++) {
        tc_el start = is_apart ? tc_el_mul(p[i], kept) : p[i];
        p[i] = tc_el_sub(start, tc_el_mul(rate, tc_el_mul(m[i], divisor[i])));
    }
    write_back(e, FIRST, m);
    write_back(e, SECOND, v);
    write_back(e, SELF, p);
}

/* BETA1 is the momentum, BETA2 the dampening, EPS nesterov, AMSGRAD is_first_step. */
static void run_sgd(struct tc_eval *e)
{
    const struct tc_plan_tensor *self = tc_eval_tensor(e, SELF);
    tc_el lr = tc_eval_scalar(e, LR, 0), momentum = tc_eval_scalar(e, BETA1, 0),
          damped = tc_el_sub(TC_EL_ONE, tc_eval_scalar(e, BETA2, 0));
    bool is_nesterov = tc_eval_bool(e, EPS, false), is_first = tc_eval_bool(e, AMSGRAD, false);
    bool has_momentum = tc_eval_number(e, BETA1, 0) != 0;

    if (!self)
        return;
    size_t n = (size_t)self->numel;
    tc_el *p = changed(e, SELF, self->numel), *g = changed(e, GRAD, self->numel),
          *b = has_momentum ? changed(e, FIRST, self->numel) : NULL;
    if (*e->failure)
        return;
    prepare(e, g, p, n, true);
    for (size_t i = 0; i < n; i++) {
        tc_el d = g[i];
        if (has_momentum) {
            b[i] = is_first ? d : tc_el_add(tc_el_mul(momentum, b[i]), tc_el_mul(damped, d));
            d = is_nesterov ? tc_el_add(d, tc_el_mul(momentum, b[i])) : b[i];
        }
        p[i] = tc_el_sub(p[i], tc_el_mul(lr, d));
    }
    write_back(e, FIRST, b);
    write_back(e, SELF, p);
}

/* FIRST is the sum of squares, BETA1 lr_decay. */
static void run_adagrad(struct tc_eval *e)
{
    const struct tc_plan_tensor *self = tc_eval_tensor(e, SELF);
    struct tc_function root = tc_eval_function(e, TC_FN_SQRT, 0, 0, 0);
    int64_t step = tc_el_to_int(tc_eval_scalar(e, STEP, 1));

    if (!self)
        return;
    size_t n = (size_t)self->numel;
    tc_el *p = changed(e, SELF, self->numel), *g = changed(e, GRAD, self->numel),
          *sum = changed(e, FIRST, self->numel), *divisor = tc_eval_new(e, n);
    if (*e->failure)
        return;
    prepare(e, g, p, n, true);
    tc_el slower =
        tc_el_add(TC_EL_ONE, tc_el_mul(tc_el_int(step - 1), tc_eval_scalar(e, BETA1, 0)));
    tc_el rate = tc_el_mul(tc_eval_scalar(e, LR, 0), tc_el_inv(slower));
    for (size_t i = 0; i < n; i++) {
        sum[i] = tc_el_add(sum[i], tc_el_square(g[i]));
        divisor[i] = tc_el_add(tc_el_sqrt(&root, sum[i]), tc_eval_scalar(e, EPS, 0));
    }
    tc_el_invert(divisor, n);
    for (size_t i = 0; i < n; i++)
        p[i] = tc_el_sub(p[i], tc_el_mul(rate, tc_el_mul(g[i], divisor[i])));
    write_back(e, FIRST, sum);
    write_back(e, SELF, p);
}

#define ADAM_ARGS                                                                              \
    "self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps lr beta1 beta2 weight_decay " \
    "eps amsgrad maximize grad_scale found_inf"

const struct tc_rule tc_rules_optimizer[] = {
    {"aten._fused_adam", ADAM_ARGS, run_adam, TC_RULE_PLAIN, 0, 0},
    {"aten._fused_adamw",          ADAM_ARGS, run_adam, TC_RULE_PLAIN, 1, 0},
    {"aten._fused_sgd",
     "self grads momentum_buffer_list - - - lr momentum dampening weight_decay nesterov "
     "is_first_step maximize grad_scale found_inf", run_sgd, TC_RULE_PLAIN, 0, 0},
    {"aten._fused_adagrad",
     "self grads state_sums - - state_steps lr lr_decay - weight_decay eps - maximize grad_scale "
     "found_inf", run_adagrad, TC_RULE_PLAIN, 0, 0},
    {0},
};
