/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting_facts.h - the numbers with which an optimizer begins, and how far they have come at the
 * end
 */
#ifndef TC_FACT_SETTING_FACTS_H
#define TC_FACT_SETTING_FACTS_H

#include "fact/facts.h"

/* The record of a group, which its first one names, and what broke by it; what the first step
 * begins with. */
void tc_fact_keep_settings(struct tc_facts *facts, struct tc_fact_watch *watch,
                           const struct tc_record *record, tc_sym name, tc_fact_lead lead);
void tc_fact_say_start(struct tc_facts *facts, struct tc_fact_watch *watch,
                       const struct tc_call *step);
/* How far a schedule has come by the end of a run. */
void tc_fact_say_courses(struct tc_facts *facts, struct tc_fact_watch *watch,
                         const struct tc_place *end);

#endif /* TC_FACT_SETTING_FACTS_H */
