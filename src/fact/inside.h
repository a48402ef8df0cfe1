/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h - which calls the script makes, in a step or in one call of its own, and in which order
 */
#ifndef TC_FACT_INSIDE_H
#define TC_FACT_INSIDE_H

#include "fact/facts.h"

/* A call of the script's own begins, in `around` (NULL: at the top), and follows from `cause`.
 * Returns what breaks by it. */
tc_fact_lead tc_fact_call_inside(struct tc_facts *facts, struct tc_fact_watch *watch,
                                 struct tc_fact_open *around, const struct tc_call *call,
                                 tc_fact_lead cause);
/* A call with others inside ends, or a step of the script: say what is to be settled. */
void tc_fact_inside_ends(struct tc_facts *facts, struct tc_fact_watch *watch, uint32_t inside);
void tc_fact_tops_end(struct tc_facts *facts, struct tc_fact_watch *watch);
/* Learning, at the end of a run. */
void tc_fact_say_insides(struct tc_facts *facts, struct tc_fact_watch *watch);

#endif /* TC_FACT_INSIDE_H */
