/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide_hash.c - XXH3 in the wide registers that the rest of the build does not assume
 *
 * The build gives this file alone the flags for them.
 */
#include "collect/agent/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/banned.h"

uint64_t tc_wide_hash(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}
