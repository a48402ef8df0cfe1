/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_range.h - the rule of numbers that are about as large in all runs
 */
#ifndef TC_FACT_NUMBER_RANGE_H
#define TC_FACT_NUMBER_RANGE_H

#include "fact/rule.h"

extern const struct tc_fact_rule tc_fact_number_range;

/* From the smallest to the largest, of so many. */
struct tc_fact_range {
    double low, high;
    uint64_t n;
};

/* A number, or two of them, as JSON; false if the value is neither. */
bool tc_fact_read_range(const struct tc_strtab *symbols, tc_sym value, struct tc_fact_range *range);
void tc_fact_print_range(const struct tc_fact_range *range, struct tc_strbuf *out);
/* Is it near enough to what is expected? */
bool tc_fact_is_about(const struct tc_fact_range *seen, const struct tc_fact_range *expected,
                      enum tc_attribute attribute);

#endif /* TC_FACT_NUMBER_RANGE_H */
