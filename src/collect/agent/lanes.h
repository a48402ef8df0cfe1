/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h - the sum that a digest is made of, "nh64" in docs/trace-format.md
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
#ifndef TC_COLLECT_LANES_H
#define TC_COLLECT_LANES_H

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
