/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h - how what runs tell of an attribute becomes a claim
 */
#ifndef TC_FACT_RULE_H
#define TC_FACT_RULE_H

#include "invariant/fact.h"

/* Of fewer occasions nothing is said of how a run goes on. */
#define TC_FACT_ENOUGH 8
/* What was met so often was met by no single chance. */
#define TC_FACT_OFTEN 3
/* One part of so many is little, and what differs by less is nearly the same. */
#define TC_FACT_PARTS 8
/* Bits of chance that a claim takes: as many occasions as have them, each of some. */
#define TC_FACT_BITS_OF_CLAIM 12

struct tc_outcomes;

/* How what runs tell of an attribute becomes a claim, and how it is held against one. */
struct tc_fact_rule {
    /* The value that is claimed of all of it; TC_NO_SYM: none. */
    tc_sym (*propose)(struct tc_strtab *symbols, enum tc_attribute attribute,
                      const struct tc_outcomes *outcomes);
    bool (*holds)(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen);
};

#endif /* TC_FACT_RULE_H */
