/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nh64.c - the seed of a digest, and the digest of zeros without memory that holds them
 *
 * All chunks of zeros have the same products, so these are made once and placed for each chunk.
 * The rest of the arithmetic stands in nh64.h, as functions that the kernel of a device takes in,
 * too.
 */
#include "base/nh64.h"

#include "base/hash.h"

uint64_t tc_nh64_seed(const char *dtype, size_t dtype_size, const int64_t *shape, size_t n_dims)
{
    return tc_hash64(shape, n_dims * sizeof(*shape), tc_hash64(dtype, dtype_size, 0));
}

uint64_t tc_nh64_of_zeros(size_t size, uint64_t seed)
{
    const size_t n_chunks = size / TC_CHUNK_SIZE + (size % TC_CHUNK_SIZE != 0);
    uint64_t products[TC_LANES] = {0}, sum = 0;

    for (size_t i = 0; i < (size_t)TC_LANES * TC_STRIPES; i++)
        products[i % TC_LANES] += tc_lanes_product(0, tc_lanes_key(i));
    for (size_t chunk = 0; chunk < n_chunks; chunk++)
        for (size_t lane = 0; lane < TC_LANES; lane++)
            sum += tc_lanes_place(products[lane], chunk, lane);
    return tc_lanes_digest(sum, size, seed);
}
