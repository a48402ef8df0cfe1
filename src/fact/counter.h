/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter.h - how often something is met in a window
 */
#ifndef TC_FACT_COUNTER_H
#define TC_FACT_COUNTER_H

#include "fact/facts.h"

/* The counter of a subject, made if it is a new one. */
struct tc_fact_counter *tc_fact_counter_of(struct tc_fact_watch *watch,
                                           const struct tc_subject *subject, bool is_reported);
/* Count one more of the subject in this window. serial: of what flows, or TC_NONE. */
void tc_fact_tally(struct tc_fact_watch *watch, const struct tc_subject *subject,
                   const struct tc_call *call, int64_t serial);
/* The slot of what is said of a counter; UINT32_MAX where that is nothing. */
uint32_t tc_fact_counter_slot(struct tc_facts *facts, struct tc_fact_counter *counter,
                              enum tc_fact_tally tally);
/* Is that said of the window at hand? The first one has a tally of its own, and later ones have. */
static inline bool tc_fact_is_tallied(const struct tc_fact_watch *watch, enum tc_fact_tally tally)
{
    return tally != (watch->n_windows ? TC_FACT_TALLY_FIRST : TC_FACT_TALLY_LATER);
}

#endif /* TC_FACT_COUNTER_H */
