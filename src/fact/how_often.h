/* SPDX-License-Identifier: Apache-2.0 */
/*
 * how_often.h - the rule of whether a run makes a call at all
 */
#ifndef TC_FACT_HOW_OFTEN_H
#define TC_FACT_HOW_OFTEN_H

#include "fact/rule.h"

extern const struct tc_fact_rule tc_fact_how_often;

/* Learning keeps so many calls in so many steps, one such text for each run: "3 of 20". */
void tc_fact_print_how_often(uint64_t n, uint64_t n_steps, struct tc_strbuf *out);

#endif /* TC_FACT_HOW_OFTEN_H */
