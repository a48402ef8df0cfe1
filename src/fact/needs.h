/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.h - what a trace must have been asked for, or facts look broken that are not
 *
 * A trace that was not asked for a script's own operators lacks their calls, and so the links of
 * what was computed by them; one that was asked for less content knows fewer tensors again.
 */
#ifndef TC_FACT_NEEDS_H
#define TC_FACT_NEEDS_H

#include "relation/relation.h"

struct tc_facts;
struct tc_fact_watch;

/* Learning, at the end of a run: tell of the operators that the process called, and how much of
 * contents is recorded. */
void tc_fact_tell_needs(struct tc_facts *facts, const struct tc_fact_watch *watch);
/* Give each fact of the set what it needs, by what was told while learning. */
void tc_fact_find_needs(const struct tc_rows *rows, struct tc_invariant_set *set);

#endif /* TC_FACT_NEEDS_H */
