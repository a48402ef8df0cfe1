/* SPDX-License-Identifier: Apache-2.0 */
/*
 * how_often.h - the rule of whether a run makes a call at all, and as often as there are steps
 */
#ifndef TC_FACT_HOW_OFTEN_H
#define TC_FACT_HOW_OFTEN_H

#include "fact/rule.h"

extern const struct tc_fact_rule tc_fact_how_often;

/* So many calls in so many steps. Learning keeps one per run, as the text "3 of 20". */
struct tc_fact_part {
    uint64_t n, of;
};

void tc_fact_print_part(const struct tc_fact_part *part, struct tc_strbuf *out);
/* Does the attribute, PRESENT or RATE, hold of a run with these numbers? */
bool tc_fact_is_met(enum tc_attribute attribute, const struct tc_fact_part *met);

#endif /* TC_FACT_HOW_OFTEN_H */
