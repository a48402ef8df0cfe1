/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_runs.h - a run beside a healthy one: what differs first, and what follows
 *
 * The reference is the first healthy run. Others say what differs between healthy runs, too: that
 * is set aside. Each process of the run is laid beside its like of the reference, window by window
 * (outline.h), call by call (window_pair.h).
 *
 * Two runs part where a value of theirs differs for the first time: a result, a batch, a variable.
 * Until then nothing that data decides can differ, so every difference counts. After it a branch
 * may be taken for its data; what counts then is a call that no healthy run makes after the same
 * two calls, and an argument that differs each time in the same way.
 */
#ifndef TC_COMPARE_TWO_RUNS_H
#define TC_COMPARE_TWO_RUNS_H

#include "compare/comparison.h"

enum tc_status tc_comparison_make(struct tc_comparison *comparison,
                                  const struct tc_compare_config *config, struct tc_notes *notes,
                                  struct tc_error *err);
void tc_comparison_release(struct tc_comparison *comparison);

/* The differences in the order in which they are reported, those that are set aside last; the
 * caller frees the array. */
const struct tc_difference **tc_comparison_order(const struct tc_comparison *comparison);
/* The first of them; NULL where nothing differs. */
struct tc_difference *tc_comparison_first(const struct tc_comparison *comparison);

/* Was the run started otherwise: by another command line, in another environment, on another number
 * of ranks, or to go on from the reference? A seed does not count. */
bool tc_comparison_is_started_otherwise(const struct tc_comparison *comparison);

#endif /* TC_COMPARE_TWO_RUNS_H */
