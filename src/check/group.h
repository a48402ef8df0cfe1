/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - violations of one cause
 *
 * Two violations belong together when they share a thing (a variable, a call, a mode, the line at
 * which one form breaks) and the later one first broke at most one step after the head of the
 * group. The head is what the order of violations puts first: the cause before its effects. A
 * broken fact that names its cause belongs to that, whatever else it shares. Of changed settings
 * those belong together that say the same of one name.
 */
#ifndef TC_CHECK_GROUP_H
#define TC_CHECK_GROUP_H

#include "check/violation.h"

struct tc_group {
    const struct tc_violation **items; /* in reading order, the head first; of the groups' array */
    size_t n;
};

struct tc_groups {
    const struct tc_violation **all; /* group by group */
    size_t n_all;
    struct tc_group *items; /* in reading order of their heads; those of settings alone are last */
    size_t n, n_settings;
};

/* violations: in reading order; borrowed. */
void tc_groups_make(struct tc_groups *groups, const struct tc_violation *const *violations,
                    size_t n, const struct tc_strtab *symbols);
void tc_groups_release(struct tc_groups *groups);

#endif /* TC_CHECK_GROUP_H */
