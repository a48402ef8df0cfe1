/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sketch.h - a few sums by which two tensors that differ tell how far apart they are
 *
 * A digest says that contents differ, and no more. Sums of all elements with random signs tell the
 * distance (Alon, Matias, Szegedy, 1996): the signs are the same in all runs, so the difference of
 * two sums is the sum of the difference, and the mean of its squares is that of the squared
 * distance. With four sums half of the estimates are within a third of it. Knows nothing of Python,
 * as digest.h. docs/trace-format.md, "Sketches", has the signs.
 */
#ifndef TC_COLLECT_SKETCH_H
#define TC_COLLECT_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "collect/agent/torch/kinds.h"

#define TC_N_SKETCHED 4

struct tc_sketch {
    double norm; /* the root of the sum of squares */
    double sums[TC_N_SKETCHED];
};

/* Of n > 0 numbers, the first of which is element `begin` of the whole: sums of parts add up. False
 * where there is none: an element is not finite, or a sum is too large; or the kind is
 * TC_NUMBER_OTHER. Needs no lock. */
bool tc_sketch_take(const void *data, size_t n, uint64_t begin, enum tc_number kind,
                    struct tc_sketch *out);

/* Append ,"sketch":[norm,...], each number with nine digits. */
void tc_sketch_add(struct tc_strbuf *out, const struct tc_sketch *sketch);

#endif /* TC_COLLECT_SKETCH_H */
