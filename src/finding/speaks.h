/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speaks.h - what a violation speaks of, among the differences of two runs
 */
#ifndef TC_FINDING_SPEAKS_H
#define TC_FINDING_SPEAKS_H

#include "check/violation.h"
#include "finding/departed_run.h"

/* symbols: of the invariants. */
bool tc_speaks_of_difference(const struct tc_comparison *c, const struct tc_difference *d,
                             const struct tc_violation *v, const struct tc_strtab *symbols);
/* Of any difference of the departure. */
bool tc_speaks_of(const struct tc_comparison *c, const struct tc_departure *departure,
                  const struct tc_violation *v, const struct tc_strtab *symbols);
/* Does it make the call more or less often? */
bool tc_departs_in_call(const struct tc_comparison *c, const struct tc_departure *departure,
                        const struct tc_strtab *symbols, tc_sym fn);

#endif /* TC_FINDING_SPEAKS_H */
