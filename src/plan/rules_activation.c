/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_activation.c - activations with attributes or weights, and their derivatives
 *
 * As in rules_function.c: what torch writes as a product with an unknown function is one here.
 */
#include "plan/eval.h"

/* ---- elu, selu, celu: scale * f(x), where f has alpha and input_scale ----------------------- */

static void run_scaled(struct tc_eval *e, struct tc_operand x, struct tc_function f, tc_el scale,
                       const struct tc_operand *gradient)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n);

    for (size_t i = 0; i < n && !*e->failure; i++) {
        to[i] = tc_el_mul(scale, tc_el_apply(&f, x.p[i * x.step]));
        if (gradient)
            to[i] = tc_el_mul(to[i], gradient->p[i * gradient->step]);
    }
    tc_eval_write(e, 0, to, n);
}

/* self alpha scale input_scale */
static void run_elu(struct tc_eval *e)
{
    bool is_celu = e->op->rule->variant;
    double alpha = tc_eval_number(e, 1, 1);
    double inner = is_celu ? 1 / alpha : tc_eval_number(e, 3, 1);
    struct tc_function f = tc_eval_function(e, TC_FN_ELU, 0, alpha, inner);

    run_scaled(e, tc_eval_operand(e, 0, tc_eval_out(e, 0)), f, tc_eval_scalar(e, 2, 1), NULL);
}

/* grad_output alpha scale input_scale is_result self_or_result */
static void run_elu_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    struct tc_operand g = tc_eval_operand(e, 0, out);
    struct tc_function f =
        tc_eval_function(e, TC_FN_ELU_SLOPE, 0, tc_eval_number(e, 1, 1), tc_eval_number(e, 3, 1));

    if (tc_eval_bool(e, 4, false))
        tc_eval_fail(e, "a gradient from the result");
    else
        run_scaled(e, tc_eval_operand(e, 5, out), f, tc_eval_scalar(e, 2, 1), &g);
}

/* self threshold value: x where it is above the threshold, else the value */
static void run_threshold(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    size_t n = (size_t)out->numel;
    struct tc_operand x = tc_eval_operand(e, 0, out);
    struct tc_function step = tc_eval_function(e, TC_FN_STEP, 0, tc_eval_number(e, 1, 0), 0);
    tc_el *to = tc_eval_new(e, n), value = tc_eval_scalar(e, 2, 0);

    for (size_t i = 0; i < n && !*e->failure; i++) {
        tc_el above = tc_el_apply(&step, x.p[i * x.step]);
        to[i] = tc_el_add(tc_el_mul(above, x.p[i * x.step]),
                          tc_el_mul(tc_el_sub(TC_EL_ONE, above), value));
    }
    tc_eval_write(e, 0, to, n);
}

/*
 * self lower upper training, or grad_output before them. In training torch draws the slope. The
 * forward names the noise as an output, too, and leaves it alone.
 */
static void run_rrelu(struct tc_eval *e)
{
    unsigned is_back = (unsigned)e->op->rule->variant;
    const struct tc_plan_tensor *t = tc_eval_tensor(e, is_back), *first = tc_eval_out(e, 0);
    double lower = tc_eval_number(e, 1 + is_back, 1.0 / 8),
           upper = tc_eval_number(e, 2 + is_back, 1.0 / 3);
    struct tc_function step = tc_eval_function(e, TC_FN_STEP, 0, 0, 0);

    if (!t || tc_eval_bool(e, 3 + is_back, false)) {
        tc_eval_fail(e, "a slope that is drawn");
        return;
    }
    size_t n = (size_t)t->numel;
    struct tc_operand g = tc_eval_operand(e, 0, t), x = tc_eval_operand(e, is_back, t);
    tc_el *to = tc_eval_new(e, n), below = tc_el_number((lower + upper) / 2, false);
    for (size_t i = 0; i < n && !*e->failure; i++) {
        tc_el s = tc_el_apply(&step, x.p[i * x.step]);
        tc_el factor = tc_el_add(s, tc_el_mul(below, tc_el_sub(TC_EL_ONE, s)));
        to[i] = tc_el_mul(factor, g.p[i * g.step]);
    }
    bool is_in_place = first && first->storage == t->storage;
    tc_eval_write(e, is_in_place ? 0 : e->op->n_outs - 1, to, n);
}

/* ---- prelu: x * (w + (1 - w) * step(x)) ----------------------------------------------------- */

/* self weight; grad_output self weight */
static void run_prelu(struct tc_eval *e)
{
    bool is_backward = e->op->rule->variant;
    const struct tc_plan_tensor *over = tc_eval_tensor(e, is_backward);
    struct tc_function step = tc_eval_function(e, TC_FN_STEP, 0, 0, 0);

    if (!over)
        return;
    size_t n = (size_t)over->numel;
    struct tc_operand g = tc_eval_operand(e, 0, over), x = tc_eval_operand(e, is_backward, over),
                      w = tc_eval_operand(e, 1 + is_backward, over);
    tc_el *to = tc_eval_new(e, n), *of_weight = tc_eval_new(e, n);
    for (size_t i = 0; i < n && !*e->failure; i++) {
        tc_el s = tc_el_apply(&step, x.p[i * x.step]), below = tc_el_sub(TC_EL_ONE, s);
        tc_el slope = tc_el_add(s, tc_el_mul(w.p[i * w.step], below));
        to[i] = tc_el_mul(slope, is_backward ? g.p[i * g.step] : x.p[i * x.step]);
        of_weight[i] = tc_el_mul(tc_el_mul(g.p[i * g.step], x.p[i * x.step]), below);
    }
    tc_eval_write(e, 0, to, n);
    if (is_backward && tc_eval_out(e, 1))
        tc_eval_write(e, 1, of_weight, n);
}

/* ---- glu: the first half of a dimension times the sigmoid of the second --------------------- */

/* Where row i of [outer][half][inner] lies in [outer][2 * half][inner]. */
static size_t in_first_half(size_t i, size_t row)
{
    return i / row * 2 * row + i % row;
}

/* self dim; grad_output self dim */
static void run_glu(struct tc_eval *e)
{
    bool is_backward = e->op->rule->variant;
    const struct tc_plan_tensor *t = tc_eval_tensor(e, is_backward);
    struct tc_function f = tc_eval_function(e, TC_FN_SIGMOID, 0, 0, 0);

    if (!t || !t->n_dims)
        return;
    unsigned d = tc_eval_dim(tc_eval_int(e, 1 + is_backward, -1), t->n_dims);
    size_t n = (size_t)t->numel / 2, row = tc_eval_span(t, d, t->n_dims) / 2;
    const tc_el *x = tc_eval_read(e, t), *g = tc_eval_in(e, 0);
    tc_el *to = tc_eval_new(e, 2 * n);
    for (size_t i = 0; i < n; i++) {
        size_t first = in_first_half(i, row), second = first + row;
        tc_el s = tc_el_apply(&f, x[second]);
        if (!is_backward) {
            to[i] = tc_el_mul(x[first], s);
            continue;
        }
        to[first] = tc_el_mul(g[i], s);
        to[second] = tc_el_mul(tc_el_mul(to[first], tc_el_sub(TC_EL_ONE, s)), x[first]);
    }
    tc_eval_write(e, 0, to, is_backward ? 2 * n : n);
}

/* ---- the table ------------------------------------------------------------------------------ */

const struct tc_rule tc_rules_activation[] = {
    {"aten.elu",           "self alpha scale input_scale", run_elu, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.celu",             "self alpha", run_elu, TC_RULE_ELEMENTWISE, 1, 0},
    {"aten.elu_backward",                   "grad_output alpha scale input_scale is_result self_or_result",
     run_elu_backward, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.threshold",                    "self threshold value", run_threshold, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.rrelu_with_noise","self lower upper training", run_rrelu, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.rrelu_with_noise_backward", "grad_output self lower upper training", run_rrelu,
     TC_RULE_ELEMENTWISE, 1, 0},
    {"aten._prelu_kernel",                   "self weight", run_prelu, TC_RULE_PLAIN, 0, 0},
    {"aten._prelu_kernel_backward",  "grad_output self weight", run_prelu, TC_RULE_PLAIN, 1, 0},
    {"aten.glu",     "self dim", run_glu, TC_RULE_PLAIN, 0, 0},
    {"aten.glu_backward",                   "grad_output self dim", run_glu, TC_RULE_PLAIN, 1, 0},
    {0                   },
};
