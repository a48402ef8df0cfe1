/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.h - the functions of element.h as real numbers
 */
#ifndef TC_PLAN_REAL_H
#define TC_PLAN_REAL_H

#include "plan/element.h"

/* As torch computes it; not a number: it is no function of real numbers, or there is no value. */
double tc_real_apply(const struct tc_function *f, double x);
double tc_real_apply2(const struct tc_function *f, double a, double b);

#endif /* TC_PLAN_REAL_H */
