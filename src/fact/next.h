/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.h - which call the script makes right after which
 */
#ifndef TC_FACT_NEXT_H
#define TC_FACT_NEXT_H

#include "fact/facts.h"

/* A call of the script's own begins, in `around` (NULL: at the top), and follows from `cause`.
 * Returns what breaks by it. */
tc_fact_lead tc_fact_next(struct tc_facts *facts, struct tc_fact_watch *watch,
                          struct tc_fact_open *around, const struct tc_call *call,
                          tc_fact_lead cause);
/* A call ends: nothing more comes inside of it. */
void tc_fact_next_ends(struct tc_facts *facts, struct tc_fact_watch *watch,
                       struct tc_fact_open *open, const struct tc_call *call);
/* Judging, what came out of its place before the first step, which is over; or the run is. Returns
 * what breaks by it first. */
tc_fact_lead tc_fact_tell_strays(struct tc_facts *facts, struct tc_fact_watch *watch);
/* At the end of a run, what was met. */
void tc_fact_say_nexts(struct tc_facts *facts, struct tc_fact_watch *watch);

#endif /* TC_FACT_NEXT_H */
