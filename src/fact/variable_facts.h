/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variable_facts.h - the variables: what each one is, which of them calls change, which are trained
 */
#ifndef TC_FACT_VARIABLE_FACTS_H
#define TC_FACT_VARIABLE_FACTS_H

#include "fact/facts.h"

/* It was seen for the first time, or has changed. */
void tc_fact_variable(struct tc_facts *facts, struct tc_fact_watch *watch,
                      const struct tc_event *event);
/* A step that leaves a variable as it was by rounding is reported as one that changed it. */
void tc_fact_step_begins(struct tc_facts *facts, struct tc_fact_watch *watch,
                         const struct tc_call *step);
/* What calls changed in this window. It follows from `lead`; what a step changes else from a number
 * that it is taken with. Returns what the next ones follow from. */
tc_fact_lead tc_fact_say_changes(struct tc_facts *facts, struct tc_fact_watch *watch,
                                 tc_fact_lead lead);
/* Which require a gradient now, or exist. */
void tc_fact_say_trainable(struct tc_facts *facts, const struct tc_fact_watch *watch,
                           enum tc_attribute attribute);

#endif /* TC_FACT_VARIABLE_FACTS_H */
