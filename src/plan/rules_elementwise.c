/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_elementwise.c - sums, products, comparisons: operators of broadcast operands
 *
 * A rule reads its operands element by element over the broadcast shape. Sums and products are
 * exact. Powers, logarithms and comparisons of elements whose order is unknown are functions of
 * their arguments.
 */
#include "plan/eval.h"

#include <string.h>

enum binary {
    ADD,
    SUB,
    RSUB,
    MUL,
    DIV,
    MAXIMUM,
    MINIMUM,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    AND,
    OR,
    XOR,
    FLOOR_DIVIDE,
    REMAINDER,
};

static tc_el truth(bool x)
{
    return x ? TC_EL_ONE : TC_EL_ZERO;
}

static bool is_true(tc_el a)
{
    return !tc_el_same(a, TC_EL_ZERO);
}

static tc_el compare(enum binary how, tc_el a, tc_el b)
{
    tc_el both[2] = {a, b};

    if (how == MAXIMUM)
        return tc_el_max_of(both, 2, 1);
    int order = tc_el_compare(a, b);
    if (how == EQ || how == NE)
        return truth((order == 0) == (how == EQ));
    if (how == MINIMUM)
        return order > 0 ? b : a;
    if (how == LT || how == LE)
        return truth(how == LT ? order < 0 : order <= 0);
    return truth(how == GT ? order > 0 : order >= 0);
}

static tc_el combine_bits(enum binary how, bool is_bool, tc_el a, tc_el b)
{
    if (is_bool)
        return truth(how == AND  ? is_true(a) && is_true(b)
                     : how == OR ? is_true(a) || is_true(b)
                                 : is_true(a) != is_true(b));
    int64_t x = tc_el_to_int(a), y = tc_el_to_int(b);
    return tc_el_int(how == AND ? x & y : how == OR ? x | y : x ^ y);
}

/* Of integers; of other elements nothing is known but that equals give equals. */
static tc_el divide_whole(const struct tc_eval *e, enum binary how, bool is_int, tc_el a, tc_el b)
{
    int64_t x = tc_el_to_int(a), y = tc_el_to_int(b);

    if (!is_int) {
        struct tc_function f = tc_eval_function(e, TC_FN_REMAINDER, how, 0, 0);
        return tc_el_apply2(&f, a, b);
    }
    if (y == 0)
        return TC_EL_UNDEF;
    int64_t quotient = x / y - (x % y != 0 && (x < 0) != (y < 0));
    return tc_el_int(how == FLOOR_DIVIDE ? quotient : x - quotient * y);
}

/* Integers over all of int64 do not occur in plans: differences of two elements cannot overflow. */
static void run_rare(struct tc_eval *e, enum binary how, struct tc_operand a, struct tc_operand b,
                     tc_el *to, size_t n)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0), *self = tc_eval_tensor(e, 0);
    bool is_bool = self && self->type == TC_PLAN_BOOL, is_int = out->type >= TC_PLAN_INT;

    for (size_t i = 0; i < n; i++) {
        tc_el x = a.p[i * a.step], y = b.p[i * b.step];
        if (how == AND || how == OR || how == XOR)
            to[i] = combine_bits(how, is_bool || out->type == TC_PLAN_BOOL, x, y);
        else if (how == FLOOR_DIVIDE || how == REMAINDER)
            to[i] = divide_whole(e, how, is_int, x, y);
        else
            to[i] = compare(how, x, y);
    }
}

#define LOOP(expression)                                \
    for (size_t i = 0; i < n; i++) {                    \
        tc_el x = a.p[i * a.step], y = b.p[i * b.step]; \
        to[i] = (expression);                           \
    }

static struct tc_operand inverted(struct tc_eval *e, struct tc_operand b, size_t n)
{
    size_t count = b.step ? n : 1;
    tc_el *copy = tc_eval_new(e, count);

    memcpy(copy, b.p, count * sizeof(*copy));
    tc_el_invert(copy, count);
    return (struct tc_operand){copy, b.step};
}

static struct tc_operand scaled(struct tc_eval *e, struct tc_operand b, tc_el by, size_t n)
{
    size_t count = b.step ? n : 1;
    tc_el *copy = tc_eval_new(e, count);

    for (size_t i = 0; i < count; i++)
        copy[i] = tc_el_mul(b.p[i], by);
    return (struct tc_operand){copy, b.step};
}

/* Products with y. A root times a positive number stays a root, so that a norm that is divided by
 * the square root of the ranks and squared again is what it was, divided by the ranks. */
static void multiply(struct tc_eval *e, struct tc_operand a, struct tc_operand b, bool inverts,
                     tc_el *to, size_t n)
{
    double number = tc_eval_tensor(e, 1) ? 0 : tc_eval_number(e, 1, 0);
    tc_el square = number > 0 ? tc_el_number_squared(number) : TC_EL_ZERO;

    if (inverts) {
        b = inverted(e, b, n);
        square = number > 0 ? tc_el_inv(square) : TC_EL_ZERO;
    }
    LOOP(number > 0 && tc_el_is_root(x) ? tc_el_scale_root(x, square) : tc_el_mul(x, y))
}

/* Most sums are of tensors of one size that hold numbers. */
static void add(struct tc_operand a, struct tc_operand b, tc_el *to, size_t n)
{
    if (!a.step || !b.step || !tc_el_add_rows(a.p, b.p, to, n))
        LOOP(tc_el_add(x, y))
}

static void run_binary(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    enum binary how = (enum binary)e->op->rule->variant;

    if (!out)
        return;
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n);
    struct tc_operand a = tc_eval_operand(e, 0, out), b = tc_eval_operand(e, 1, out);
    if (how <= RSUB && tc_eval_has(e, 2) && tc_eval_number(e, 2, 1) != 1)
        *(how == RSUB ? &a : &b) = scaled(e, how == RSUB ? a : b, tc_eval_scalar(e, 2, 1), n);
    if (how == DIV && tc_eval_has(e, 2)) {
        if (strcmp(tc_eval_text(e, 2, ""), "floor") != 0)
            tc_eval_fail(e, "rounding_mode '%s'", tc_eval_text(e, 2, ""));
        how = FLOOR_DIVIDE;
    }
    if (*e->failure)
        return;
    if (how == ADD)
        add(a, b, to, n);
    else if (how == SUB)
        LOOP(tc_el_sub(x, y))
    else if (how == RSUB)
        LOOP(tc_el_sub(y, x))
    else if (how == MUL || how == DIV)
        multiply(e, a, b, how == DIV, to, n);
    else
        run_rare(e, how, a, b, to, n);
    tc_eval_write(e, 0, to, n);
}

/* self + value * tensor1 * tensor2, or / tensor2 */
static void run_addc(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n), value = tc_eval_scalar(e, 3, 1);
    struct tc_operand s = tc_eval_operand(e, 0, out), a = tc_eval_operand(e, 1, out),
                      b = tc_eval_operand(e, 2, out);

    if (*e->failure)
        return;
    if (e->op->rule->variant)
        b = inverted(e, b, n);
    for (size_t i = 0; i < n; i++) {
        tc_el product = tc_el_mul(a.p[i * a.step], b.p[i * b.step]);
        to[i] = tc_el_add(s.p[i * s.step], tc_el_mul(value, product));
    }
    tc_eval_write(e, 0, to, n);
}

static void run_lerp(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n);
    struct tc_operand a = tc_eval_operand(e, 0, out), b = tc_eval_operand(e, 1, out),
                      w = tc_eval_operand(e, 2, out);

    if (*e->failure)
        return;
    for (size_t i = 0; i < n; i++) {
        tc_el x = a.p[i * a.step], y = b.p[i * b.step];
        to[i] = tc_el_add(x, tc_el_mul(w.p[i * w.step], tc_el_sub(y, x)));
    }
    tc_eval_write(e, 0, to, n);
}

/* Argument 0 where it is true takes 1, else 2; for masked_fill the names are in that order. */
static void run_where(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n);
    struct tc_operand c = tc_eval_operand(e, 0, out), a = tc_eval_operand(e, 1, out),
                      b = tc_eval_operand(e, 2, out);

    if (*e->failure)
        return;
    for (size_t i = 0; i < n; i++)
        to[i] = is_true(c.p[i * c.step]) ? a.p[i * a.step] : b.p[i * b.step];
    tc_eval_write(e, 0, to, n);
}

/* self mask source: where the mask is true, the source's elements in their order */
static void run_masked_scatter(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0), *source = tc_eval_tensor(e, 2);
    size_t n = (size_t)out->numel, taken = 0;
    struct tc_operand a = tc_eval_operand(e, 0, out), mask = tc_eval_operand(e, 1, out);

    if (*e->failure || !source)
        return;
    const tc_el *from = tc_eval_read(e, source);
    tc_el *to = tc_eval_new(e, n);
    for (size_t i = 0; i < n; i++) {
        bool takes = is_true(mask.p[i * mask.step]);
        if (takes && taken == (size_t)source->numel) {
            tc_eval_fail(e, "a mask that chooses more elements than there are");
            return;
        }
        to[i] = takes ? from[taken++] : a.p[i * a.step];
    }
    tc_eval_write(e, 0, to, n);
}

/* self mask: as many elements as the real job has found. As the backward of masked_scatter, variant
 * 1: zeros behind them. */
static void run_masked_select(struct tc_eval *e)
{
    const struct tc_plan_tensor *self = tc_eval_tensor(e, 0), *mask = tc_eval_tensor(e, 1);
    size_t n = (size_t)tc_eval_out(e, 0)->numel, taken = 0;

    if (!self || !mask || mask->numel > self->numel) {
        tc_eval_fail(e, "a mask that is larger than the tensor");
        return;
    }
    struct tc_operand a = tc_eval_operand(e, 0, self), chosen = tc_eval_operand(e, 1, self);
    tc_el *to = tc_eval_zeros(e, n);
    for (size_t i = 0; i < (size_t)self->numel && !*e->failure; i++) {
        if (!is_true(chosen.p[i * chosen.step]))
            continue;
        if (taken < n)
            to[taken] = a.p[i * a.step];
        taken++;
    }
    if (taken > n || (taken < n && !e->op->rule->variant))
        tc_eval_fail(e, "a mask that chooses another number of elements than in the real job");
    else
        tc_eval_write(e, 0, to, n);
}

/* self * log(other), 0 where self is */
static void run_xlogy(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n);
    struct tc_operand a = tc_eval_operand(e, 0, out), b = tc_eval_operand(e, 1, out);
    struct tc_function f = tc_eval_function(e, TC_FN_LOG, 0, 0, 0);

    for (size_t i = 0; i < n && !*e->failure; i++) {
        tc_el x = a.p[i * a.step];
        to[i] = is_true(x) ? tc_el_mul(x, tc_el_apply(&f, b.p[i * b.step])) : TC_EL_ZERO;
    }
    tc_eval_write(e, 0, to, n);
}

static tc_el raised(const struct tc_function *f, tc_el x, double exponent)
{
    struct tc_function root = *f;

    if (exponent == 0.5 || exponent == -0.5) {
        x = tc_el_sqrt(&root, x);
        return exponent < 0 ? tc_el_inv(x) : x;
    }
    if (exponent == 2)
        return tc_el_square(x);
    if (exponent == (double)(int64_t)exponent && exponent >= -64 && exponent <= 64) {
        int64_t whole = (int64_t)exponent;
        x = tc_el_power(x, (uint64_t)(whole < 0 ? -whole : whole));
        return whole < 0 ? tc_el_inv(x) : x;
    }
    return tc_el_apply(f, x);
}

/* With an exponent that is a number, or a base that is one: beta ** step. */
static void run_pow(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n);
    struct tc_operand a = tc_eval_operand(e, 0, out), b = tc_eval_operand(e, 1, out);
    double exponent = tc_eval_number(e, 1, 0);
    struct tc_function f = tc_eval_function(e, TC_FN_POW, 0, exponent, 0);

    if (*e->failure)
        return;
    for (size_t i = 0; i < n; i++) {
        tc_el x = a.p[i * a.step], y = b.p[i * b.step];
        if (!tc_eval_tensor(e, 1)) {
            to[i] = raised(&f, x, exponent);
            continue;
        }
        int64_t whole = tc_eval_index(y);
        bool is_whole = whole >= 0 && whole <= 1 << 20 && tc_el_same(tc_el_int(whole), y);
        to[i] = is_whole ? tc_el_power(x, (uint64_t)whole) : tc_el_apply2(&f, x, y);
    }
    tc_eval_write(e, 0, to, n);
}

/* Bounds that are tensors are compared; integers are clamped; else it is a function of its bounds.
 */
static void run_clamp(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    size_t n = (size_t)out->numel;
    tc_el *to = tc_eval_new(e, n);
    struct tc_operand x = tc_eval_operand(e, 0, out);
    bool has[2] = {tc_eval_has(e, 1), tc_eval_has(e, 2)};
    bool is_ordered = out->type >= TC_PLAN_INT || tc_eval_tensor(e, 1) || tc_eval_tensor(e, 2);
    struct tc_function f = tc_eval_function(e, TC_FN_CLAMP, has[0] + 2 * has[1],
                                            tc_eval_number(e, 1, 0), tc_eval_number(e, 2, 0));
    struct tc_operand low = has[0] ? tc_eval_operand(e, 1, out) : x;
    struct tc_operand high = has[1] ? tc_eval_operand(e, 2, out) : x;

    for (size_t i = 0; i < n && !*e->failure; i++) {
        to[i] = x.p[i * x.step];
        if (!is_ordered) {
            to[i] = tc_el_apply(&f, to[i]);
            continue;
        }
        if (has[0])
            to[i] = compare(MAXIMUM, to[i], low.p[i * low.step]);
        if (has[1])
            to[i] = compare(MINIMUM, to[i], high.p[i * high.step]);
    }
    tc_eval_write(e, 0, to, n);
}

#define BINARY(op, how)                                                                        \
    {                                                                                          \
        "aten." op, "self other|scalar|scalars alpha", run_binary, TC_RULE_ELEMENTWISE, how, 0 \
    }
#define COMPARE(op, how)                                                                 \
    {                                                                                    \
        "aten." op, "self other|scalar|scalars", run_binary, TC_RULE_ELEMENTWISE, how, 0 \
    }

const struct tc_rule tc_rules_elementwise[] = {
    BINARY("add", ADD),
    BINARY("sub", SUB),
    BINARY("rsub", RSUB),
    COMPARE("mul", MUL),
    {"aten.div",                                    "self other|scalar|scalars rounding_mode", run_binary, TC_RULE_ELEMENTWISE, DIV,
                  0},
    COMPARE("maximum", MAXIMUM),
    COMPARE("minimum", MINIMUM),
    COMPARE("eq", EQ),
    COMPARE("ne", NE),
    COMPARE("lt", LT),
    COMPARE("le", LE),
    COMPARE("gt", GT),
    COMPARE("ge", GE),
    COMPARE("logical_and", AND),
    COMPARE("logical_or", OR),
    COMPARE("logical_xor", XOR),
    COMPARE("bitwise_and", AND),
    COMPARE("bitwise_or", OR),
    COMPARE("bitwise_xor", XOR),
    COMPARE("__and__", AND),
    COMPARE("__or__", OR),
    COMPARE("floor_divide", FLOOR_DIVIDE),
    COMPARE("remainder", REMAINDER),
    {"aten.addcmul",                                   "self tensor1 tensor2 value|scalars|tensors", run_addc, TC_RULE_ELEMENTWISE, 0,
                  0},
    {"aten.addcdiv",                                          "self tensor1 tensor2 value|scalars|tensors", run_addc, TC_RULE_ELEMENTWISE, 1,
                  0},
    {"aten.lerp",                                             "self end|tensors1 weight|weights|scalars", run_lerp, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.where","condition self other", run_where, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.masked_scatter",                          "self mask source", run_masked_scatter, TC_RULE_PLAIN, 0, 0},
    {"aten.masked_scatter_backward",                                             "grad_output mask sizes", run_masked_select, TC_RULE_PLAIN, 1,
                  0},
    {"aten.masked_select",                                "self mask", run_masked_select, TC_RULE_PLAIN, 0, 0},
    {"aten.masked_fill",                                     "mask value self", run_where, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.xlogy",                                            "self other", run_xlogy, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.pow",                                             "self exponent", run_pow, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.clamp","self min max", run_clamp, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.clamp_min",                          "self min|scalar|other", run_clamp, TC_RULE_ELEMENTWISE, 0, 0},
    {"aten.clamp_max",                                            "self - max|scalar|other", run_clamp, TC_RULE_ELEMENTWISE, 0, 0},
    {0                                 },
};
