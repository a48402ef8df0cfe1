/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chosen.h - what the command line of a run chose, and what follows from it
 */
#ifndef TC_FINDING_CHOSEN_H
#define TC_FINDING_CHOSEN_H

#include "check/violation.h"
#include "compare/two_runs.h"

/* Of these violations, n, those of that run become settings for which a changed option of the
 * command line accounts. run: its number. */
void tc_chosen_mark(const struct tc_comparison *c, uint64_t run,
                    struct tc_violation *const *violations, size_t n,
                    const struct tc_strtab *symbols);

#endif /* TC_FINDING_CHOSEN_H */
