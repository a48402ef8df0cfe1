/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_class.h - classes of calls that say the same
 */
#ifndef TC_FACT_CALL_CLASS_H
#define TC_FACT_CALL_CLASS_H

#include "fact/facts.h"

/* A call of the subject begins, phase 'b', or ends, 'e': what follows is packed to facts->pack. */
void tc_fact_pack_begins(struct tc_facts *facts, uint32_t subject, char phase);
/* The class of the packed call, or NULL if it is a new one: then it is to be read to
 * facts->entries. */
struct tc_fact_class *tc_fact_class_of(struct tc_facts *facts);
/* Settle what it says, new or known, as follows from the cause; returns what leads. */
tc_fact_lead tc_fact_settle_class(struct tc_facts *facts, struct tc_fact_class *known,
                                  uint32_t subject, tc_fact_lead cause);

#endif /* TC_FACT_CALL_CLASS_H */
