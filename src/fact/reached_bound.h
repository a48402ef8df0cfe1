/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reached_bound.h - the rule of bounds that are met again and again, and never passed
 */
#ifndef TC_FACT_REACHED_BOUND_H
#define TC_FACT_REACHED_BOUND_H

#include "fact/rule.h"
#include "fact/slot.h"

extern const struct tc_fact_rule tc_fact_bound;

/* Does the content stay within its bound, and not reach it? There may be less in another data set.
 */
bool tc_fact_is_within_bound(uint32_t attribute, const char *expected, const char *seen);

/* The slot had this number n times. */
void tc_fact_count_bounds(struct tc_fact_slot *slot, double number, bool is_judging, uint64_t n);
/* Learning, a process had it n times: *start is where its numbers began. */
void tc_fact_count_start(struct tc_fact_slot *slot, struct tc_fact_start *start,
                         const struct tc_process *process, double number, uint64_t n);

#endif /* TC_FACT_REACHED_BOUND_H */
