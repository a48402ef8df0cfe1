/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carry.h - laws of exp and log, for what is shifted by a maximum and shifted back
 *
 * What max and log give carries its own exponential. A value v = b + atoms + r, with the atoms
 * maxima and r the log of R, has exp(v) = E(b) * E(atom) * ... * R. Each rule is an identity of
 * real numbers: a value whose record is given up is sound, it is only known less of.
 *
 * The laws hold on a thread that has entered them. Everywhere else exp and log are keyed hashes.
 */
#ifndef TC_PLAN_CARRY_H
#define TC_PLAN_CARRY_H

#include "plan/element.h"

enum tc_laws_mode {
    TC_LAWS_NONE,         /* exp and log are hashes */
    TC_LAWS_FREE,         /* a maximum is a variable of its own: what is shown holds for any */
    TC_LAWS_LOGS_ORDERED, /* that of two logs is one of them */
    TC_LAWS_ORDERED,      /* every maximum is the highest by the order of elements */
    TC_N_LAWS,
    TC_LAWS_DOUBLES = TC_N_LAWS, /* none: elements are doubles, functions the real ones */
    TC_LAWS_BENT,                /* the same, but what is clamped is bent, and hides nothing */
};

/* The laws of one evaluation, and all records that are made by them. */
struct tc_laws;

/* NULL for TC_LAWS_NONE. The seed is that of the evaluation. */
struct tc_laws *tc_laws_new(enum tc_laws_mode mode, uint64_t seed);
/* TC_LAWS_DOUBLES or BENT, drawn from -spread to spread. */
struct tc_laws *tc_laws_new_doubles(enum tc_laws_mode mode, double spread);
void tc_laws_free(struct tc_laws *laws);
/* From here on this thread evaluates by these laws; NULL: by none. */
void tc_laws_enter(struct tc_laws *laws);

/* ---- for field.c: elements of which one carries, or may ---------------------------------------
 */

/* Neither is an infinity, undefined, or a root. */
tc_el tc_carry_add(tc_el a, tc_el b);
tc_el tc_carry_mul(tc_el a, tc_el b);
tc_el tc_carry_neg(tc_el a);
/* False if no law is known here: then it is a hash of the value. */
bool tc_carry_apply(enum tc_fn fn, double a, tc_el x, tc_el *y);
/* What a comparison takes: of a free maximum the element that is highest by order. */
tc_el tc_carry_key(tc_el a);

#endif /* TC_PLAN_CARRY_H */
