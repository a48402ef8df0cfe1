/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_facts.h - the end of a step window: how often what was called, and what flowed where
 */
#ifndef TC_FACT_WINDOW_FACTS_H
#define TC_FACT_WINDOW_FACTS_H

#include "fact/facts.h"

/* Judging, a call begins: with the first one of training or evaluation the setting up is over. */
void tc_fact_set_up(struct tc_facts *facts, struct tc_fact_watch *watch,
                    const struct tc_call *call);
void tc_fact_window_ends(struct tc_facts *facts, struct tc_fact_watch *watch,
                         const struct tc_window *window);
/* Learning, the run is over. What flowed while it was set up, and then never more; what other
 * processes of the run called and this one did not. */
void tc_fact_say_set_up(struct tc_facts *facts, struct tc_fact_watch *watch);
void tc_fact_say_absent(struct tc_facts *facts, struct tc_fact_watch *watch,
                        const struct tc_fact_watch *other, const struct tc_place *place);

#endif /* TC_FACT_WINDOW_FACTS_H */
