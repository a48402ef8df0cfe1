/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - a setting that was changed: its name, and from what to what
 *
 * One rate stands in many places: what makes the optimizer is given it, each parameter group has
 * it, each step is taken with it. Each place is an invariant of its own, the change is one.
 */
#ifndef TC_CHECK_CHANGE_H
#define TC_CHECK_CHANGE_H

#include "check/violation.h"

struct tc_change {
    struct tc_str name, from, to; /* as the strings of symbols live */
    uint64_t run;                 /* number of the trace */
};

/* False if the violation is of no setting with a name and one value. */
bool tc_change_of(struct tc_change *change, const struct tc_violation *violation,
                  const struct tc_strtab *symbols);
/* In one run the same values under one name; "initial_lr" is one with "lr". */
bool tc_change_is_same(const struct tc_change *a, const struct tc_change *b);
/* Equal for all that are the same. */
uint64_t tc_change_key(const struct tc_change *change);

#endif /* TC_CHECK_CHANGE_H */
