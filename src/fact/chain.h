/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain.h - by which calls, one on the result of the other, a first operand was made
 */
#ifndef TC_FACT_CHAIN_H
#define TC_FACT_CHAIN_H

#include "fact/facts.h"

/* The place of the first operand among those of facts->pack, whose sources have been found. */
void tc_fact_chain_begins(struct tc_facts *facts, struct tc_fact_watch *w,
                          struct tc_fact_open *open, const struct tc_call *call, size_t first);
/* The call made this tensor. */
void tc_fact_chain_gives(struct tc_fact_watch *w, const struct tc_fact_open *open, int64_t serial,
                         bool is_operand);

#endif /* TC_FACT_CHAIN_H */
