/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explanation.h - where a parallel job departs from the single-device job, and how
 */
#ifndef TC_PLAN_EXPLANATION_H
#define TC_PLAN_EXPLANATION_H

#include "plan/verdict.h"

/* Evaluates both once more and adds findings for the results that are wrong. */
enum tc_status tc_plan_explain(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                               const struct tc_verify_config *config,
                               struct tc_plan_verdict *verdict, struct tc_error *err);

#endif /* TC_PLAN_EXPLANATION_H */
