/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding_report.h - what is said of a finding, in all forms of a report
 */
#ifndef TC_REPORT_FINDING_REPORT_H
#define TC_REPORT_FINDING_REPORT_H

#include "base/json.h"
#include "finding/finding.h"

/* "departure", "violation", "remark" or "setting". */
const char *tc_finding_kind(const struct tc_finding *finding);
/* How much it matters, in the words of SARIF: "error", "warning" of a remark, "note" of a setting.
 */
const char *tc_finding_level(const struct tc_finding *finding);
/* "Optimizer.zero_grad() is no longer called" */
void tc_finding_sentence(const struct tc_finding *finding, struct tc_strbuf *out);

/* The place to look at first, "train.py:16": of the run, or of the healthy one where the run has it
 * no more; "" if none is known. */
void tc_finding_at(const struct tc_finding *finding, struct tc_strbuf *out);
/* "from step 3 on"; of a violation also how often. A departure is read no further than the
 * violations reach: how often it comes is not known. */
void tc_finding_when(const struct tc_finding *finding, struct tc_strbuf *out);
/* Negative: unknown. */
int64_t tc_finding_step(const struct tc_finding *finding);
int64_t tc_finding_rank(const struct tc_finding *finding);
/* As docs/violation-format.md has it; number counts from 1. */
struct tc_json *tc_finding_to_json(const struct tc_finding *finding, size_t number);

#endif /* TC_REPORT_FINDING_REPORT_H */
