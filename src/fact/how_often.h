/* SPDX-License-Identifier: Apache-2.0 */
/*
 * how_often.h - the rule of whether a run makes a call at all, and as often as there are steps
 */
#ifndef TC_FACT_HOW_OFTEN_H
#define TC_FACT_HOW_OFTEN_H

#include "fact/rule.h"

extern const struct tc_fact_rule tc_fact_how_often;

/* What is met a few times a run may not be met in another one. */
#define TC_FACT_MIN_MET 8

/* So many of so many: calls and the steps of the run, or calls that differ and all of them.
 * Learning keeps one per run, as the text "3 of 20". */
struct tc_fact_part {
    uint64_t n, of;
};

void tc_fact_print_part(const struct tc_fact_part *part, struct tc_strbuf *out);
/* False of any other value. */
bool tc_fact_read_part(const struct tc_strtab *symbols, tc_sym value, struct tc_fact_part *part);
/* Does the attribute, PRESENT or RATE, hold of a run with these numbers? */
bool tc_fact_is_met(enum tc_attribute attribute, const struct tc_fact_part *met);
/* Were runs of one length so different that another one may break the claim? */
bool tc_fact_met_by_chance(const struct tc_strtab *symbols, enum tc_attribute attribute,
                           const struct tc_outcomes *outcomes);

#endif /* TC_FACT_HOW_OFTEN_H */
