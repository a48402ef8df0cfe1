/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.c - the one door to xxHash
 */
#include "base/hash.h"

#define XXH_INLINE_ALL /* most keys are short: the call would cost more than the hash */
#include <xxhash.h>

uint64_t tc_hash64(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}
