/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coverage.h - which invariants a trace can decide
 *
 * A trace that was taken for some invariants lacks what others speak of, and one of a release in
 * which something is called otherwise lacks that. Judged by those, a call that was not traced would
 * look like one that was not made.
 */
#ifndef TC_CHECK_COVERAGE_H
#define TC_CHECK_COVERAGE_H

#include "invariant/invariant.h"
#include "replay/event.h"

/* Of the processes of one run. */
struct tc_coverage {
    const struct tc_invariant_set *set; /* whose needs these are, once looked at */
    unsigned needs;                     /* of any invariant of the set */
    struct tc_map answers; /* of each that lacks something → what that keeps from being judged */
};

/*
 * Why each invariant of the set cannot be judged in this process, NULL where it can; NULL for all
 * of it when the process traced everything. The texts are in arena, the array is the coverage's
 * and valid until the next call. *is_new: the answer is another than the last one for this process.
 */
const char *const *tc_coverage_of(struct tc_coverage *coverage, const struct tc_process *process,
                                  const struct tc_invariant_set *set, struct tc_arena *arena,
                                  bool *is_new);

/* Bits of enum tc_need: what the process was not asked for. */
unsigned tc_coverage_lacks(const struct tc_process *process);

/* The run is over: its processes are no more. */
void tc_coverage_reset(struct tc_coverage *coverage);
void tc_coverage_release(struct tc_coverage *coverage);

#endif /* TC_CHECK_COVERAGE_H */
