/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occasion.h - entries settled: what was seen is counted, or judged
 */
#ifndef TC_FACT_OCCASION_H
#define TC_FACT_OCCASION_H

#include "fact/facts.h"

/* Judging, the slot's fact is left alone here, for that reason. */
void tc_fact_excuse(struct tc_facts *facts, uint32_t slot, enum tc_excuse excuse);
/* The entries at hand, which something has said: count them n times, tell what they break. They
 * follow from `cause`; where that is 0, the first of them leads. Returns what leads them. */
tc_fact_lead tc_fact_settle(struct tc_facts *facts, const struct tc_fact_entry *entries, size_t n,
                            uint64_t times, tc_fact_lead cause, const struct tc_place *place);
/* At the end of a run, breaches that are no surprise, of a fact that broke more often than it held:
 * something was changed. */
void tc_fact_tell_rare(struct tc_facts *facts, uint32_t slot, tc_fact_lead cause);
/* A fact without an operand, said once. */
void tc_fact_say(struct tc_facts *facts, const struct tc_subject *subject, tc_sym path,
                 enum tc_attribute attribute, const char *json);
/* Settle and forget what was said. */
tc_fact_lead tc_fact_settle_said(struct tc_facts *facts, uint64_t times, tc_fact_lead cause,
                                 const struct tc_place *place);
/* Learning, the slot was met in this window; at a place of its own, or at the end, in so many. */
void tc_fact_meet_window(struct tc_facts *facts, uint32_t slot, uint64_t n,
                         const struct tc_place *place);

#endif /* TC_FACT_OCCASION_H */
