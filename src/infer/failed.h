/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failed.h - hypotheses that were dropped, for the person who misses an invariant
 *
 * Each is one JSON line: the invariant as it would have been with the best attempt at a
 * precondition, why it is none, and what broke it. docs/invariant-format.md.
 */
#ifndef TC_INFER_FAILED_H
#define TC_INFER_FAILED_H

#include "infer/deduce.h"

struct tc_failures {
    TC_VEC(char *) lines; /* owned */
};

void tc_failures_release(struct tc_failures *failures);

/* invariant has relation, params and the attempt; counterexample may be NULL. Counts the invariant
 * on the rows. */
void tc_failures_add(struct tc_failures *failures, const struct tc_deduce_rows *rows,
                     struct tc_invariant *invariant, enum tc_deduction why,
                     const struct tc_row *counterexample);

/* All lines, sorted. */
void tc_failures_print(struct tc_failures *failures, struct tc_strbuf *out);

#endif /* TC_INFER_FAILED_H */
