/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other_world.h - the same job on another number of ranks
 *
 * Step by step: the rows of the batches of all ranks together are those of the reference, each as
 * often; the mean of the ranks' losses, and the norm of the gradients, are those of the reference
 * up to rounding. Initial weights are equal by content. Weights after that differ by rounding; with
 * `--content full` sketches tell whether by more: half of the variables of a step, or more, whose
 * parts on all ranks together (shards.h) are farther from the reference's than that.
 */
#ifndef TC_COMPARE_OTHER_WORLD_H
#define TC_COMPARE_OTHER_WORLD_H

#include "compare/comparison.h"

/* Numbers of two sums in another order differ by less, relative to the larger one. */
#define TC_RANKS_ROUNDING 1e-3

enum tc_status tc_ranks_compare(struct tc_comparison *comparison, struct tc_differences *out,
                                struct tc_error *err);

#endif /* TC_COMPARE_OTHER_WORLD_H */
