/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_value.h - the rule of most attributes: one value throughout is a claim, another one breaks it
 */
#ifndef TC_FACT_ONE_VALUE_H
#define TC_FACT_ONE_VALUE_H

#include "fact/rule.h"

extern const struct tc_fact_rule tc_fact_one_value;

/* What a value of one run says of the attribute. */
typedef tc_sym tc_fact_reading(struct tc_strtab *symbols, enum tc_attribute attribute,
                               tc_sym value);

tc_sym tc_fact_propose_one(struct tc_strtab *symbols, enum tc_attribute attribute,
                           const struct tc_outcomes *outcomes);
bool tc_fact_holds_one(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen);
/* What all that was met says alike; TC_NO_SYM where it says several things. */
tc_sym tc_fact_only_value(struct tc_strtab *symbols, enum tc_attribute attribute,
                          const struct tc_outcomes *outcomes, tc_fact_reading *read);

#endif /* TC_FACT_ONE_VALUE_H */
