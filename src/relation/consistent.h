/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent.h - what the forms of Consistent have in common: a variable is as another, or as
 * before
 *
 * Outcomes are sets of "ATTR equal" and "ATTR differs". A claim has one param, the kind of
 * variable with the attribute that stays equal.
 */
#ifndef TC_RELATION_CONSISTENT_H
#define TC_RELATION_CONSISTENT_H

#include "relation/claims.h"
#include "relation/form.h"

/* The row of an attribute. */
#define TC_CONSISTENT_CLAIM(attr_, support_, expected_, seen_)                                    \
    {                                                                                             \
        .key = {TC_BLANK_KIND}, .kind = TC_BLANK_KIND, .of = TC_PARAM_VARIABLE, .attr = (attr_),  \
        .to = TC_SYM_EQUAL, .held = {(attr_), TC_SYM_EQUAL}, .broken = {(attr_), TC_SYM_DIFFERS}, \
        .if_met = true, .support = (support_), .expected = (expected_), .seen = (seen_)           \
    }

tc_sym tc_consistent_agreement(struct tc_strtab *symbols, tc_sym attr, bool equal);

/* The fields of a variable that a comparison may depend on: what it is, not what it is doing. */
void tc_consistent_situation(struct tc_situation *situation, const struct tc_variable *variable);

/* Those of them that a framework keeps on the variable. */
void tc_consistent_framework(struct tc_situation *situation, const struct tc_variable *variable);

/* One example about a variable; sorts the outcome. */
void tc_consistent_emit(const struct tc_sink *sink, const struct tc_event *event, tc_sym key,
                        const struct tc_situation *situation, tc_sym *outcome, size_t n,
                        const struct tc_variable *variable);

/* What of a variable is compared from one moment or one rank to another. */
struct tc_snapshot {
    uint64_t data, algorithm;
    tc_sym dtype, shape;
    bool has_data, is_sampled, requires_grad;
};

struct tc_snapshot tc_snapshot_of(const struct tc_variable *variable);
/* Can their content be compared? A sampled and a full digest never do, nor those of two
 * algorithms. */
bool tc_snapshots_compare(const struct tc_snapshot *a, const struct tc_snapshot *b);

#endif /* TC_RELATION_CONSISTENT_H */
