/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend_rule.h - the rule of how a number goes on, and what a run says of it
 */
#ifndef TC_FACT_TREND_RULE_H
#define TC_FACT_TREND_RULE_H

#include "fact/rule.h"

extern const struct tc_fact_rule tc_fact_trend;

/* How a number went on from call to call. */
struct tc_fact_trend {
    uint32_t subject;
    tc_sym path;
    double before, last, by;
    uint64_t n, n_rises, n_falls;
    uint64_t n_between; /* it stayed, and then moved on */
    bool is_saved;      /* in a checkpoint */
    bool is_other;      /* it is no integer, or did not change by the same each time */
};

/* Judging, does the claim hold of the last number? */
bool tc_fact_trend_holds(const struct tc_fact_trend *trend, const char *claim);
/* Of a claim that a number goes on: how far it came. What it does beyond that is not known. */
double tc_fact_trend_reach(const char *claim);
/* Learning, what all numbers say, as JSON. */
void tc_fact_print_trend(const struct tc_fact_trend *trend, char *text, size_t size);

#endif /* TC_FACT_TREND_RULE_H */
