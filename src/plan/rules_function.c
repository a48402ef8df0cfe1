/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_function.c - functions of one element, and their derivatives
 *
 * A function that torch writes as a product with an unknown one is written so here: x * H(x) for
 * gelu and silu. So what is 0 stays 0, and a backward written out by hand has the same terms.
 */
#include "plan/eval.h"

#include <string.h>

enum form {
    PLAIN, /* f(x) */
    TIMES, /* x * f(x) */
    NEGATE,
    INVERT,
    ROOT,
    INVERT_ROOT,
    SQUARE,
    IS_FALSE,
    FLIP,
    IS_FINITE,
    IS_NAN,
    IS_INFINITE,
    COPY,
    ONE_MINUS_STEP, /* x * (slope + (1 - slope) * step(x)) */
};

static int variant_of(const char *text)
{
    return !strcmp(text, "tanh");
}

/* What argument 1 and 2 of a function are: numbers, or the text of gelu's approximate. */
static struct tc_function function_of(const struct tc_eval *e, unsigned first, double a, double b)
{
    enum tc_fn fn = (enum tc_fn)e->op->rule->extra;

    return tc_eval_function(e, fn, variant_of(tc_eval_text(e, first, "")),
                            tc_eval_number(e, first, a), tc_eval_number(e, first + 1, b));
}

static tc_el sloped(const struct tc_function *step, tc_el slope, tc_el x)
{
    tc_el s = tc_el_apply(step, x);

    return tc_el_add(slope, tc_el_mul(tc_el_sub(TC_EL_ONE, slope), s));
}

static tc_el unary(enum form form, const struct tc_function *f, tc_el x, tc_el slope)
{
    switch (form) {
    case PLAIN:
        return tc_el_apply(f, x);
    case TIMES:
        return tc_el_mul(x, tc_el_apply(f, x));
    case NEGATE:
        return tc_el_neg(x);
    case ROOT:
    case INVERT_ROOT:
        return tc_el_sqrt(f, x);
    case SQUARE:
        return tc_el_square(x);
    case IS_FALSE:
        return tc_el_same(x, TC_EL_ZERO) ? TC_EL_ONE : TC_EL_ZERO;
    case FLIP:
        return tc_el_sub(tc_el_int(-1), x);
    case IS_FINITE:
        return tc_el_is_marked(tc_el_plain(x)) ? TC_EL_ZERO : TC_EL_ONE;
    case IS_NAN:
        return tc_el_same(tc_el_plain(x), TC_EL_UNDEF) ? TC_EL_ONE : TC_EL_ZERO;
    case IS_INFINITE:
        x = tc_el_plain(x);
        return tc_el_same(x, TC_EL_PLUS) || tc_el_same(x, TC_EL_MINUS) ? TC_EL_ONE : TC_EL_ZERO;
    case ONE_MINUS_STEP:
        return tc_el_mul(x, sloped(f, slope, x));
    case INVERT:
    case COPY:
        break;
    }
    return x;
}

static double default_of(enum tc_fn fn, bool second)
{
    if (fn == TC_FN_SOFTPLUS || fn == TC_FN_SOFTPLUS_SLOPE)
        return second ? 20 : 1;
    if (fn == TC_FN_CLAMP || fn == TC_FN_CLAMP_STEP)
        return second ? 1 : -1;
    if (fn == TC_FN_OUTSIDE || fn == TC_FN_SOFTSHRINK)
        return second ? 0 : 0.5;
    return 0;
}

static void run_unary(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    enum form form = (enum form)e->op->rule->variant;
    enum tc_fn fn = (enum tc_fn)e->op->rule->extra;
    size_t n = (size_t)out->numel;
    struct tc_operand x = tc_eval_operand(e, 0, out);
    struct tc_function f = function_of(e, 1, default_of(fn, false), default_of(fn, true));
    tc_el *to = tc_eval_new(e, n);
    tc_el slope =
        form == ONE_MINUS_STEP ? tc_el_number(tc_eval_number(e, 1, 0.01), false) : TC_EL_ZERO;

    if (form == ONE_MINUS_STEP)
        f = tc_eval_function(e, TC_FN_STEP, 0, 0, 0);
    if (fn == TC_FN_CLAMP)
        f.variant = 3;
    if (form == FLIP && out->type == TC_PLAN_BOOL)
        form = IS_FALSE;
    for (size_t i = 0; i < n && !*e->failure; i++)
        to[i] = unary(form, &f, x.p[i * x.step], slope);
    if (form == INVERT || form == INVERT_ROOT)
        tc_el_invert(to, n);
    tc_eval_write(e, 0, to, n);
}

/* The second output is what the CPU's kernel keeps: exp(-|x|). The backward here needs x alone. */
static void run_log_sigmoid(struct tc_eval *e)
{
    const struct tc_plan_tensor *buffer = tc_eval_out(e, 1);
    struct tc_function to_exp = tc_eval_function(e, TC_FN_EXP, 0, 0, 0);
    struct tc_function size = tc_eval_function(e, TC_FN_ABS, 0, 0, 0);

    run_unary(e);
    if (!buffer)
        return;
    size_t n = (size_t)buffer->numel;
    struct tc_operand x = tc_eval_operand(e, 0, buffer);
    tc_el *kept = tc_eval_new(e, n);
    for (size_t i = 0; i < n && !*e->failure; i++)
        kept[i] = tc_el_apply(&to_exp, tc_el_neg(tc_el_apply(&size, x.p[i * x.step])));
    tc_eval_write(e, 1, kept, n);
}

/* ---- derivatives --------------------------------------------------------------------------- */

enum slope {
    BY_FUNCTION, /* g * f(x) */
    BY_SIGMOID,  /* g * y * (1 - y) */
    BY_TANH,     /* g * (1 - y * y) */
    BY_SILU,     /* g * s * (1 + x * (1 - s)) */
    BY_STEP,
    BY_MINUS, /* g * f(-x) */
};

static tc_el silu_slope(const struct tc_function *f, tc_el x)
{
    tc_el s = tc_el_apply(f, x);
    tc_el rest = tc_el_mul(x, tc_el_sub(TC_EL_ONE, s));

    return tc_el_mul(s, tc_el_add(TC_EL_ONE, rest));
}

static tc_el slope_at(enum slope how, const struct tc_function *f, tc_el slope, tc_el x)
{
    switch (how) {
    case BY_SIGMOID:
        return tc_el_mul(x, tc_el_sub(TC_EL_ONE, x));
    case BY_TANH:
        return tc_el_sub(TC_EL_ONE, tc_el_mul(x, x));
    case BY_SILU:
        return silu_slope(f, x);
    case BY_STEP:
        return sloped(f, slope, x);
    case BY_MINUS:
        return tc_el_apply(f, tc_el_neg(x));
    case BY_FUNCTION:
        break;
    }
    return tc_el_apply(f, x);
}

static void run_slope(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    enum slope how = (enum slope)e->op->rule->variant;
    enum tc_fn fn = (enum tc_fn)e->op->rule->extra;
    size_t n = (size_t)out->numel;
    struct tc_operand g = tc_eval_operand(e, 0, out), x = tc_eval_operand(e, 1, out);
    struct tc_function f = function_of(e, 2, default_of(fn, false), default_of(fn, true));
    tc_el *to = tc_eval_new(e, n), slope = TC_EL_ZERO;

    if (how == BY_STEP) {
        slope = tc_el_number(tc_eval_number(e, 2, 0.01), false);
        f = tc_eval_function(e, TC_FN_STEP, 0, 0, 0);
    }
    for (size_t i = 0; i < n && !*e->failure; i++)
        to[i] = tc_el_mul(g.p[i * g.step], slope_at(how, &f, slope, x.p[i * x.step]));
    tc_eval_write(e, 0, to, n);
}

#define FUNCTION(op, fn)                                                      \
    {                                                                         \
        "aten." op, "self", run_unary, TC_RULE_ELEMENTWISE, PLAIN, TC_FN_##fn \
    }
#define FORM(op, form)                                                       \
    {                                                                        \
        "aten." op, "self", run_unary, TC_RULE_ELEMENTWISE, form, TC_FN_SQRT \
    }
#define SLOPE(op, args, how, fn)                                                         \
    {                                                                                    \
        "aten." op, "grad_output " args, run_slope, TC_RULE_ELEMENTWISE, how, TC_FN_##fn \
    }

const struct tc_rule tc_rules_function[] = {
    FUNCTION("exp", EXP),
    FUNCTION("expm1", EXPM1),
    FUNCTION("log", LOG),
    FUNCTION("log1p", LOG1P),
    FUNCTION("log2", LOG2),
    FUNCTION("tanh", TANH),
    FUNCTION("sigmoid", SIGMOID),
    FUNCTION("erf", ERF),
    FUNCTION("cos", COS),
    FUNCTION("sin", SIN),
    FUNCTION("abs", ABS),
    FUNCTION("sign", SIGN),
    FUNCTION("sgn", SIGN),
    FUNCTION("floor", FLOOR),
    FUNCTION("ceil", CEIL),
    FUNCTION("trunc", TRUNC),
    FUNCTION("atan", ATAN),
    FORM("neg", NEGATE),
    FORM("reciprocal", INVERT),
    FORM("sqrt", ROOT),
    FORM("rsqrt", INVERT_ROOT),
    FORM("square", SQUARE),
    FORM("logical_not", IS_FALSE),
    FORM("bitwise_not", FLIP),
    FORM("isfinite", IS_FINITE),
    FORM("isnan", IS_NAN),
    FORM("isinf", IS_INFINITE),
    {"aten.round",         "self decimals", run_unary, TC_RULE_ELEMENTWISE, PLAIN, TC_FN_ROUND},
    {"aten.relu",           "self", run_unary, TC_RULE_ELEMENTWISE, TIMES, TC_FN_STEP},
    {"aten.silu",               "self", run_unary, TC_RULE_ELEMENTWISE, TIMES, TC_FN_SIGMOID},
    {"aten.gelu",                    "self approximate", run_unary, TC_RULE_ELEMENTWISE, TIMES, TC_FN_GELU},
    {"aten.mish",    "self", run_unary, TC_RULE_ELEMENTWISE, TIMES, TC_FN_MISH},
    {"aten.hardswish", "self", run_unary, TC_RULE_ELEMENTWISE, TIMES, TC_FN_HARD},
    {"aten.hardsigmoid",          "self", run_unary, TC_RULE_ELEMENTWISE, PLAIN, TC_FN_HARD},
    {"aten.hardtanh",          "self min_val max_val", run_unary, TC_RULE_ELEMENTWISE, PLAIN, TC_FN_CLAMP},
    {"aten.leaky_relu",           "self negative_slope", run_unary, TC_RULE_ELEMENTWISE, ONE_MINUS_STEP,
                            TC_FN_STEP},
    {"aten.log_sigmoid_forward",               "self", run_log_sigmoid, TC_RULE_ELEMENTWISE, PLAIN,
                            TC_FN_LOGSIGMOID},
    {"aten.softplus",                    "self beta threshold", run_unary, TC_RULE_ELEMENTWISE, PLAIN, TC_FN_SOFTPLUS},
    SLOPE("gelu_backward", "self approximate", BY_FUNCTION, GELU_SLOPE),
    SLOPE("silu_backward", "self", BY_SILU, SIGMOID),
    SLOPE("mish_backward", "self", BY_FUNCTION, MISH_SLOPE),
    {"aten.hardshrink","self lambd", run_unary, TC_RULE_ELEMENTWISE, TIMES, TC_FN_OUTSIDE},
    {"aten.softshrink", "self lambd", run_unary, TC_RULE_ELEMENTWISE, PLAIN, TC_FN_SOFTSHRINK},
    {"aten.hardshrink_backward",          "grad_out self lambd", run_slope, TC_RULE_ELEMENTWISE, BY_FUNCTION,
                            TC_FN_OUTSIDE},
    SLOPE("softshrink_backward", "self lambd", BY_FUNCTION, OUTSIDE),
    SLOPE("hardsigmoid_backward", "self", BY_FUNCTION, HARDSIGMOID_SLOPE),
    SLOPE("log_sigmoid_backward", "self", BY_MINUS, SIGMOID),
    SLOPE("sigmoid_backward", "output", BY_SIGMOID, SIGMOID),
    SLOPE("tanh_backward", "output", BY_TANH, TANH),
    SLOPE("threshold_backward", "self threshold", BY_FUNCTION, STEP),
    SLOPE("hardtanh_backward", "self min_val max_val", BY_FUNCTION, CLAMP_STEP),
    SLOPE("hardswish_backward", "self", BY_FUNCTION, HARD_SLOPE),
    SLOPE("leaky_relu_backward", "self negative_slope", BY_STEP, STEP),
    SLOPE("softplus_backward", "self beta threshold", BY_FUNCTION, SOFTPLUS_SLOPE),
    {0         },
};
