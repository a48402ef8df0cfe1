/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - a call begins, and ends: the walk through all that is recorded of it
 */
#ifndef TC_FACT_CALL_H
#define TC_FACT_CALL_H

#include "fact/facts.h"

void tc_fact_call_begins(struct tc_facts *facts, struct tc_fact_watch *watch,
                         const struct tc_call *call);
void tc_fact_call_ends(struct tc_facts *facts, struct tc_fact_watch *watch,
                       const struct tc_call *call);
/* The same of a function that the script defines, which is around no other call. */
void tc_fact_own_begins(struct tc_facts *facts, struct tc_fact_watch *watch,
                        const struct tc_call *call);
void tc_fact_own_ends(struct tc_facts *facts, struct tc_fact_watch *watch,
                      const struct tc_call *call);

#endif /* TC_FACT_CALL_H */
