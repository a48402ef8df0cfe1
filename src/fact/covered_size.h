/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covered_size.h - whether the indices that a call is given cover another operand
 */
#ifndef TC_FACT_COVERED_SIZE_H
#define TC_FACT_COVERED_SIZE_H

#include "fact/facts.h"
#include "fact/operand_facts.h"

/* The size of another operand of which the largest element of one, of integers, is the last index:
 * what a call's facts of it depend on, and these facts. */
void tc_fact_pack_covered(struct tc_fact_pack *pack, const struct tc_call *call);
void tc_fact_read_covered(struct tc_fact_reader *reader, const struct tc_call *call);
/* Learning: what a call of that subject was given is an occasion of this. */
void tc_fact_meet_covered(struct tc_facts *facts, struct tc_fact_watch *watch, uint32_t subject,
                          const struct tc_call *call);
/* The run is over: where it was one number all the time, as the words of a vocabulary that is
 * always used up, nothing is claimed. */
void tc_fact_doubt_covered(struct tc_facts *facts, struct tc_fact_watch *watch);

#endif /* TC_FACT_COVERED_SIZE_H */
