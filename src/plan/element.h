/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element.h - what stands in a tensor while a plan is evaluated
 *
 * An element of the field of p * p elements, p = 2^61 - 1. Sums, products and quotients are
 * those of the field, so two expressions that are the same by the laws of arithmetic have the same
 * value, and others differ but for a chance of some 2^-120 (Schwartz, Zippel). Functions such as
 * exp are keyed hashes: equal arguments give equal results, and nothing else is known of them.
 *
 * On a thread that has entered TC_LAWS_DOUBLES or BENT (carry.h) elements are doubles and functions
 * the real ones: for a second opinion, and for the test that holds the rules of operators against
 * torch.
 */
#ifndef TC_PLAN_ELEMENT_H
#define TC_PLAN_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions the field has no formula for; the real ones are in real.c. */
#define TC_FN_MAP(X)  \
    X(CONST)          \
    X(VARIABLE)       \
    X(RANDOM)         \
    X(EXP)            \
    X(LOG)            \
    X(LOG1P)          \
    X(LOG2)           \
    X(TANH)           \
    X(SIGMOID)        \
    X(ERF)            \
    X(COS)            \
    X(SIN)            \
    X(ABS)            \
    X(SIGN)           \
    X(STEP)           \
    X(CLAMP)          \
    X(CLAMP_STEP)     \
    X(GELU)           \
    X(GELU_SLOPE)     \
    X(SILU_SLOPE)     \
    X(POW)            \
    X(SOFTPLUS)       \
    X(SOFTPLUS_SLOPE) \
    X(ELU)            \
    X(ELU_SLOPE)      \
    X(HARD)           \
    X(HARD_SLOPE)     \
    X(FLOOR)          \
    X(CEIL)           \
    X(ROUND)          \
    X(TRUNC)          \
    X(EXPM1)          \
    X(ATAN)           \
    X(ORDER)          \
    X(REMAINDER)      \
    X(LESS)           \
    X(BITS)           \
    X(SQRT)           \
    X(HUBER)          \
    X(HUBER_SLOPE)    \
    X(MISH)           \
    X(MISH_SLOPE)     \
    X(LOGSIGMOID)     \
    X(SLOPED_STEP)    \
    X(MAX)            \
    X(UNKNOWN)        \
    X(OUTSIDE)        \
    X(SOFTSHRINK)     \
    X(HARDSIGMOID_SLOPE)

enum tc_fn {
#define X(name) TC_FN_##name,
    TC_FN_MAP(X)
#undef X
    TC_N_FN
};

/* A function with its attributes, which are part of its identity. */
struct tc_function {
    enum tc_fn fn;
    int variant; /* which of a kind: approximate= of gelu */
    double a, b; /* attributes: bounds, exponents, slopes */
    uint64_t keys[2];
};

/* Functions are drawn anew for each seed. */
struct tc_function tc_function_make(uint64_t seed, enum tc_fn fn, int variant, double a, double b);

#include "plan/element_field.h"

/* The sum of products over two strided rows. */
tc_el tc_el_dot(const tc_el *a, size_t a_step, const tc_el *b, size_t b_step, size_t n);
tc_el tc_el_sum(const tc_el *a, size_t step, size_t n);
/* Inverses in place: one inversion and three products an element. */
void tc_el_invert(tc_el *a, size_t n);
tc_el tc_el_power(tc_el base, uint64_t exponent);
/* The element a number stands for: the rational it most likely is. tolerance: relative error that
 * its type has. */
tc_el tc_el_number(double x, bool is_single);
/* What to_double() has of an element that a number made, and of a double; else not a number. */
double tc_el_to_double(tc_el a);
/* Its square: exact also where the number is the root of a ratio that has no root in the field. */
tc_el tc_el_number_squared(double x);

#endif /* TC_PLAN_ELEMENT_H */
