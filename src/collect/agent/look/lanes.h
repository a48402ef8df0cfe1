/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h - the sum that a digest is made of (base/nh64.h), of memory
 */
#ifndef TC_COLLECT_LANES_H
#define TC_COLLECT_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "base/nh64.h"

/* The sums of a chunk: of the products of each lane, and of its words. */
struct tc_lanes {
    uint64_t products[TC_LANES], words[TC_LANES];
};

/* Of all chunks of the data. May run without the interpreter's lock. */
uint64_t tc_lanes_sum(const void *data, size_t size);

/* Add whole stripes, whose first word has the key at keys. The second needs AVX2. */
void tc_lanes_add(struct tc_lanes *lanes, const void *stripes, size_t n, const uint64_t *keys);
void tc_lanes_add_wide(struct tc_lanes *lanes, const void *stripes, size_t n, const uint64_t *keys);

#endif /* TC_COLLECT_LANES_H */
