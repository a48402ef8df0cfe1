/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.h - is the parallel job the same computation as the single-device job?
 */
#ifndef TC_PLAN_VERIFY_H
#define TC_PLAN_VERIFY_H

#include "plan/verdict.h"

/* Only what cannot be compared at all is an error: plans that are no pair, interruption. */
enum tc_status tc_plan_verify(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                              const struct tc_verify_config *config,
                              struct tc_plan_verdict *verdict, struct tc_error *err);
void tc_plan_verdict_release(struct tc_plan_verdict *verdict);

#endif /* TC_PLAN_VERIFY_H */
