/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.c - functions of real numbers, as torch computes them
 *
 * For the second opinion of a verdict (second.c), and for the test that holds the rules against
 * torch.
 */
#include "plan/real.h"

#include <math.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x, double beta, double threshold)
{
    return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}

/* Without the factor x. */
static double gelu(double x, bool is_tanh)
{
    if (!is_tanh)
        return 0.5 * (1 + erf(x / sqrt(2)));
    return 0.5 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x, bool is_tanh)
{
    if (!is_tanh)
        return gelu(x, false) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
    double t = 2 * gelu(x, true) - 1;
    return gelu(x, true) + 0.5 * x * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

static double mish_slope(double x)
{
    double t = tanh(softplus(x, 1, 20));

    return t + x * sigmoid(x) * (1 - t * t);
}

static double clamped(double x, int bounds, double a, double b)
{
    x = bounds & 1 ? fmax(x, a) : x;
    return bounds & 2 ? fmin(x, b) : x;
}

static double hard_slope(double x)
{
    return x <= -3 ? 0 : x < 3 ? x / 3 + 0.5 : 1;
}

/* variants: 0 smooth_l1_loss, 1 huber_loss */
static double huber(const struct tc_function *f, double d)
{
    double size = fabs(d), by = f->variant ? 1 : f->a, sign = (d > 0) - (d < 0);

    if (f->fn == TC_FN_HUBER)
        return size < f->a ? d * d / 2 / by : (size - f->a / 2) * f->a / by;
    return size < f->a ? d / by : sign * f->a / by;
}

static double of_shape(const struct tc_function *f, double x)
{
    switch (f->fn) {
    case TC_FN_ABS:
        return fabs(x);
    case TC_FN_SIGN:
        return (x > 0) - (x < 0);
    case TC_FN_STEP:
        return x > f->a;
    case TC_FN_CLAMP:
        return clamped(x, f->variant, f->a, f->b);
    case TC_FN_CLAMP_STEP:
        return x > f->a && x < f->b;
    case TC_FN_HARD:
        return fmin(fmax(x + 3, 0), 6) / 6;
    case TC_FN_HARD_SLOPE:
        return hard_slope(x);
    case TC_FN_OUTSIDE:
        return fabs(x) > f->a;
    case TC_FN_SOFTSHRINK:
        return x > f->a ? x - f->a : x < -f->a ? x + f->a : 0;
    case TC_FN_HARDSIGMOID_SLOPE:
        return x > -3 && x < 3 ? 1.0 / 6 : 0;
    case TC_FN_FLOOR:
        return floor(x);
    case TC_FN_CEIL:
        return ceil(x);
    case TC_FN_ROUND:
        return nearbyint(x * pow(10, f->a)) / pow(10, f->a);
    case TC_FN_TRUNC:
        return trunc(x);
    default:
        return NAN;
    }
}

double tc_real_apply(const struct tc_function *f, double x)
{
    switch (f->fn) {
    case TC_FN_EXP:
        return exp(x);
    case TC_FN_EXPM1:
        return expm1(x);
    case TC_FN_LOG:
        return log(x);
    case TC_FN_LOG1P:
        return log1p(x);
    case TC_FN_LOG2:
        return log2(x);
    case TC_FN_TANH:
        return tanh(x);
    case TC_FN_SIGMOID:
        return sigmoid(x);
    case TC_FN_ERF:
        return erf(x);
    case TC_FN_COS:
        return cos(x);
    case TC_FN_SIN:
        return sin(x);
    case TC_FN_ATAN:
        return atan(x);
    case TC_FN_POW:
        return pow(x, f->a);
    case TC_FN_GELU:
        return gelu(x, f->variant);
    case TC_FN_GELU_SLOPE:
        return gelu_slope(x, f->variant);
    case TC_FN_MISH:
        return tanh(softplus(x, 1, 20));
    case TC_FN_MISH_SLOPE:
        return mish_slope(x);
    case TC_FN_LOGSIGMOID:
        return -softplus(-x, 1, 1e300);
    case TC_FN_SOFTPLUS:
        return softplus(x, f->a, f->b);
    case TC_FN_SOFTPLUS_SLOPE:
        return x * f->a > f->b ? 1 : sigmoid(x * f->a);
    case TC_FN_ELU: /* b: input_scale */
        return x > 0 ? x : f->a * expm1(x * f->b);
    case TC_FN_ELU_SLOPE:
        return x > 0 ? 1 : f->a * f->b * exp(x * f->b);
    case TC_FN_HUBER:
    case TC_FN_HUBER_SLOPE:
        return huber(f, x);
    default:
        return of_shape(f, x);
    }
}

double tc_real_apply2(const struct tc_function *f, double a, double b)
{
    if (f->fn == TC_FN_POW)
        return pow(a, b);
    if (f->fn == TC_FN_REMAINDER) /* variants: FLOOR_DIVIDE and REMAINDER of rules_elementwise.c */
        return f->variant == 16 ? floor(a / b) : a - floor(a / b) * b;
    return NAN;
}
