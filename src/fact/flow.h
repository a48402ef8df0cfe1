/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h - what flows from call to call within a step
 */
#ifndef TC_FACT_FLOW_H
#define TC_FACT_FLOW_H

#include "fact/facts.h"

void tc_fact_flow_init(struct tc_facts *facts);
/* The place of a call of the script's own among those of its API that come in a row. */
uint32_t tc_fact_place_in_row(struct tc_fact_watch *watch, const struct tc_fact_open *open);
/* What produced it: the word of a call that returned it as its i-th tensor. */
uint64_t tc_fact_word(uint32_t fn, uint32_t row, size_t i);
/* The operands of a packed call, of which the first n_args are no receiver, in this window. */
void tc_fact_flow(struct tc_facts *facts, struct tc_fact_watch *watch,
                  const struct tc_fact_label *label, const struct tc_call *call, size_t n_args);
/* The modules whose variables a function is given, in this window. */
void tc_fact_use(struct tc_facts *facts, struct tc_fact_watch *watch, const struct tc_call *call);

/* May a call that a limit of the trace left out have made what flows so? It seems to come from
 * outside of all calls. */
bool tc_fact_is_hidden(const struct tc_fact_watch *w, const struct tc_subject *flow);

#endif /* TC_FACT_FLOW_H */
