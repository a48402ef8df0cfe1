/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consequence.h - what follows from a changed setting by its size, and is no broken law
 */
#ifndef TC_CHECK_CONSEQUENCE_H
#define TC_CHECK_CONSEQUENCE_H

#include "check/violation.h"

/* A number that a run was given, and that which the runs learned from were given. */
struct tc_chosen {
    uint64_t run; /* number of the trace */
    double from, to;
};

/* Of these violations, n, those of laws about an amount or a size become settings where a setting
 * that was changed in the same run accounts for it: one of the violations, or of what the command
 * line chose, n_chosen. */
void tc_consequences_mark(struct tc_violation *const *violations, size_t n,
                          const struct tc_chosen *chosen, size_t n_chosen,
                          const struct tc_strtab *symbols);

#endif /* TC_CHECK_CONSEQUENCE_H */
