/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_value.c - the rule of most attributes: one value throughout is a claim, another one breaks it
 */
#include "fact/one_value.h"

#include "relation/relation.h"

tc_sym tc_fact_only_value(struct tc_strtab *symbols, enum tc_attribute attribute,
                          const struct tc_outcomes *outcomes, tc_fact_reading *read)
{
    tc_sym value = TC_NO_SYM;

    for (size_t i = 0; i < outcomes->n; i++) {
        const tc_sym other = outcomes->n_outcome[i] == 1
                                 ? read(symbols, attribute, outcomes->outcome[i][0])
                                 : TC_NO_SYM;
        value = i ? value : other;
        if (other == TC_NO_SYM || other != value)
            return TC_NO_SYM;
    }
    return value;
}

static tc_sym as_it_is(struct tc_strtab *symbols, enum tc_attribute attribute, tc_sym value)
{
    (void)symbols;
    (void)attribute;
    return value;
}

tc_sym tc_fact_propose_one(struct tc_strtab *symbols, enum tc_attribute attribute,
                           const struct tc_outcomes *outcomes)
{
    return tc_fact_only_value(symbols, attribute, outcomes, as_it_is);
}

bool tc_fact_holds_one(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen)
{
    (void)symbols;
    return seen == claim->value;
}

const struct tc_fact_rule tc_fact_one_value = {.propose = tc_fact_propose_one,
                                               .holds = tc_fact_holds_one};
