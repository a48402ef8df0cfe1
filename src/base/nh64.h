/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nh64.h - the digest that traces hold, "nh64" in docs/trace-format.md
 *
 * The bytes are cut into chunks of 64 stripes of 8 little-endian words, with zeros after the last
 * one. Each word of a chunk has a key. A chunk has a sum for each of the 8 lanes: of the products
 * of the halves of each word with its key (NH, Black et al., UMAC, 1999), and of the words of the
 * lane beside it, so that no single word can change unseen (as XXH3 does). Each sum is mixed with
 * the place of its chunk and lane, and all of them are added.
 *
 * So chunks may be read in any order and on any device, and 64 bits of wrapping integers are all
 * that one needs: traincheck_agent/lanes.py says the same in torch's operators.
 */
#ifndef TC_BASE_NH64_H
#define TC_BASE_NH64_H

#include <stddef.h>
#include <stdint.h>

#define TC_LANES      8
#define TC_STRIPES    64
#define TC_CHUNK_SIZE ((size_t)TC_LANES * TC_STRIPES * sizeof(uint64_t))

#define TC_LANES_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The finalizer of SplitMix64 (Steele, Lea, Flood, 2014): one to one, each bit depends on all. */
static inline uint64_t tc_lanes_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Of word i of a chunk. */
static inline uint64_t tc_lanes_key(uint64_t i)
{
    return tc_lanes_mix((i + 1) * TC_LANES_GOLDEN);
}

static inline uint64_t tc_lanes_product(uint64_t word, uint64_t key)
{
    const uint64_t x = word ^ key;

    return (x & UINT32_MAX) * (x >> 32);
}

/* What the sum of a lane of a chunk adds to the digest. */
static inline uint64_t tc_lanes_place(uint64_t sum, uint64_t chunk, uint64_t lane)
{
    return tc_lanes_mix(sum + (chunk * TC_LANES + lane + 1) * TC_LANES_GOLDEN);
}

/* The digest of data of that size, by the sum of its chunks. */
static inline uint64_t tc_lanes_digest(uint64_t sum, size_t size, uint64_t seed)
{
    return tc_lanes_mix(sum + tc_lanes_mix(seed + (size + 1) * TC_LANES_GOLDEN));
}

/* The seed of a variable: equal bytes of another type or shape are another content. */
uint64_t tc_nh64_seed(const char *dtype, size_t dtype_size, const int64_t *shape, size_t n_dims);

/* The digest of so many bytes that are zero. */
uint64_t tc_nh64_of_zeros(size_t size, uint64_t seed);

#endif /* TC_BASE_NH64_H */
