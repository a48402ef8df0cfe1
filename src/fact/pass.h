/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - how many batches an evaluation has
 */
#ifndef TC_FACT_PASS_H
#define TC_FACT_PASS_H

#include "fact/facts.h"

/* Judging, of the window as far as it has come. */
struct tc_fact_pass tc_fact_pass_of(struct tc_facts *facts, struct tc_fact_watch *watch);
/* Of a fact that this breaks: is it once for each batch, of which there are more or fewer? */
bool tc_fact_is_of_pass(struct tc_facts *facts, const struct tc_fact *fact, tc_sym seen);

#endif /* TC_FACT_PASS_H */
