/* SPDX-License-Identifier: Apache-2.0 */
/*
 * between_ranks.h - whether ranks hand the same numbers and contents to a call, or have the same
 * returned
 */
#ifndef TC_FACT_BETWEEN_RANKS_H
#define TC_FACT_BETWEEN_RANKS_H

#include "fact/facts.h"

/* What a call is given, path "args" or "self", or returns, "value", if it is one of several ranks.
 */
void tc_fact_meet_ranks(struct tc_facts *facts, struct tc_fact_watch *watch, uint32_t subject,
                        const struct tc_call *call, const char *path, const struct tc_value *value);
/* At the end of a run. */
void tc_fact_compare_ranks(struct tc_facts *facts);

#endif /* TC_FACT_BETWEEN_RANKS_H */
