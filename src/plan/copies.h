/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies.h - ranks that compute the same as another one at every operator
 *
 * In a layout that was captured with one rank for each role, the ranks along the data-parallel axis
 * run one program on one batch. One of them is evaluated and stands for the others.
 */
#ifndef TC_PLAN_COPIES_H
#define TC_PLAN_COPIES_H

#include "plan/program.h"

/* Find them, once all programs are read. What is not certain is no copy. */
void tc_plan_find_copies(struct tc_plan_set *set);

#endif /* TC_PLAN_COPIES_H */
