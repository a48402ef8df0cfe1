/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h - how what runs tell of an attribute becomes a claim
 */
#ifndef TC_FACT_RULE_H
#define TC_FACT_RULE_H

#include "invariant/fact.h"

struct tc_outcomes;

/* How what runs tell of an attribute becomes a claim, and how it is held against one. */
struct tc_fact_rule {
    /* The value that is claimed of all of it; TC_NO_SYM: none. */
    tc_sym (*propose)(struct tc_strtab *symbols, enum tc_attribute attribute,
                      const struct tc_outcomes *outcomes);
    bool (*holds)(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen);
};

#endif /* TC_FACT_RULE_H */
