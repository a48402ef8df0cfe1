/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_random.c - what is drawn: functions of the seed, the number of the draw and the element
 *
 * Two ranks that draw with one seed and one number draw the same; all else is unrelated.
 */
#include "plan/eval.h"

static struct tc_function draw_of(struct tc_eval *e)
{
    const struct tc_plan_op *op = e->op;

    if (!op->draws)
        tc_eval_fail(e, "the plan does not say with which seed it draws ('rng')");
    return tc_eval_function(e, TC_FN_RANDOM, 0, (double)op->rng[0], (double)op->rng[1]);
}

static tc_el *drawn(struct tc_eval *e, const struct tc_plan_tensor *out)
{
    struct tc_function f = draw_of(e);
    tc_el *to = tc_eval_new(e, (size_t)out->numel);

    for (int64_t i = 0; i < out->numel; i++)
        to[i] = tc_el_apply(&f, tc_el_int(i + 2));
    return to;
}

static void run_draw(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);

    if (out)
        tc_eval_write(e, 0, drawn(e, out), (size_t)out->numel);
}

/* The mask stands for the scaled mask too: x * m / (1 - p). */
static void run_dropout(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    double p = tc_eval_number(e, 1, 0.5);

    if (!out)
        return;
    struct tc_operand x = tc_eval_operand(e, 0, out);
    tc_el *mask = drawn(e, out), *to = tc_eval_new(e, (size_t)out->numel),
          scale = p < 1 ? tc_el_number(1 / (1 - p), false) : TC_EL_ZERO;
    bool is_off = p == 0 || (tc_eval_has(e, 2) && !tc_eval_bool(e, 2, true));
    for (int64_t i = 0; i < out->numel && !*e->failure; i++) {
        mask[i] = is_off ? TC_EL_ONE : mask[i];
        to[i] = tc_el_mul(x.p[(size_t)i * x.step], tc_el_mul(mask[i], is_off ? TC_EL_ONE : scale));
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
    tc_eval_write(e, 1, mask, (size_t)out->numel);
}

static void run_dropout_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);

    if (!out)
        return;
    struct tc_operand g = tc_eval_operand(e, 0, out), m = tc_eval_operand(e, 1, out);
    tc_el *to = tc_eval_new(e, (size_t)out->numel), scale = tc_eval_scalar(e, 2, 1);
    for (int64_t i = 0; i < out->numel && !*e->failure; i++) {
        size_t k = (size_t)i;
        to[i] = tc_el_mul(tc_el_mul(g.p[k * g.step], m.p[k * m.step]), scale);
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

#define DRAW(op)                                          \
    {                                                     \
        "aten." op, "self", run_draw, TC_RULE_PLAIN, 0, 0 \
    }

const struct tc_rule tc_rules_random[] = {
    DRAW("bernoulli"),
    DRAW("uniform"),
    DRAW("normal"),
    DRAW("rand"),
    DRAW("rand_like"),
    DRAW("randn"),
    DRAW("randn_like"),
    DRAW("exponential"),
    {"aten.native_dropout", "input p train", run_dropout, TC_RULE_PLAIN, 0, 0},
    {"aten.native_dropout_backward",          "grad_output mask scale", run_dropout_backward, TC_RULE_PLAIN,
                     0, 0},
    {0                   },
};
