/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing.h - the line to look at where a call, or what flows to it, is not what it was
 */
#ifndef TC_FACT_MISSING_H
#define TC_FACT_MISSING_H

#include "fact/facts.h"

/* The line to look at where calls, or flows, of the subject are others than they were, or gone;
 * TC_SYM_EMPTY where there is none. It leaves words on what stands there as the origin of what is
 * settled next, until has_origin is false again. */
tc_sym tc_fact_find_place(struct tc_facts *facts, const struct tc_fact_watch *watch,
                          const struct tc_subject *subject);

#endif /* TC_FACT_MISSING_H */
