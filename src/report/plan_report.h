/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_report.h - forms in which the verdict on a plan is written
 */
#ifndef TC_REPORT_PLAN_REPORT_H
#define TC_REPORT_PLAN_REPORT_H

#include "base/json.h"
#include "plan/verify.h"
#include <traincheck/plan.h>

/* Everything is borrowed. */
struct tc_plan_report {
    const struct tc_plan_check_config *config;
    const struct tc_plan_check_result *result;
    const struct tc_plan_set *single, *parallel;
    const struct tc_plan_verdict *verdict;
};

void tc_plan_report_text(const struct tc_plan_report *r, struct tc_strbuf *out);
/* "error < 2^-83, 7 random evaluations" */
void tc_plan_add_bound(const struct tc_plan_verdict *verdict, struct tc_strbuf *out);
/* One object for each finding, then the summary: JSON Lines. */
void tc_plan_report_json(const struct tc_plan_report *r, struct tc_strbuf *out);
void tc_plan_report_sarif(const struct tc_plan_report *r, struct tc_strbuf *out);
void tc_plan_report_junit(const struct tc_plan_report *r, struct tc_strbuf *out);
void tc_plan_report_github(const struct tc_plan_report *r, struct tc_strbuf *out);
void tc_plan_report_html(const struct tc_plan_report *r, struct tc_strbuf *out);

struct tc_json *tc_plan_finding_to_json(const struct tc_plan_finding *finding);
struct tc_json *tc_plan_summary_to_json(const struct tc_plan_report *r);

#endif /* TC_REPORT_PLAN_REPORT_H */
