/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizes.h - sizes that weaken a proof
 */
#ifndef TC_PLAN_SIZES_H
#define TC_PLAN_SIZES_H

#include "plan/verdict.h"

/* Adds warnings to the verdict that name the tensors and their dimensions. */
void tc_plan_warn_sizes(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                        struct tc_plan_verdict *verdict);

#endif /* TC_PLAN_SIZES_H */
