/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes_wide.c - stripes in the wide registers that the rest of the build does not assume
 *
 * The build gives this file alone the flags for them.
 */
#include "collect/agent/look/lanes.h"

#ifdef __AVX2__
#    include <immintrin.h>

#    define N_WIDE 2 /* registers of a stripe */
#    define AHEAD \
        32 /* registers: what is fetched before it is needed, and may lie behind the end */

static void add_to(uint64_t *sums, const __m256i *wide)
{
    uint64_t add[TC_LANES];

    for (size_t i = 0; i < N_WIDE; i++)
        _mm256_storeu_si256((__m256i *)(void *)add + i, wide[i]);
    for (size_t lane = 0; lane < TC_LANES; lane++)
        sums[lane] += add[lane];
}

void tc_lanes_add_wide(struct tc_lanes *lanes, const void *stripes, size_t n, const uint64_t *keys)
{
    const __m256i *at = stripes, *key = (const __m256i *)(const void *)keys;
    __m256i products[N_WIDE] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256i words[N_WIDE] = {_mm256_setzero_si256(), _mm256_setzero_si256()};

    for (size_t i = 0; i < n; i++, at += N_WIDE, key += N_WIDE) {
        _mm_prefetch((const char *)(at + AHEAD), _MM_HINT_T0);
        for (size_t k = 0; k < N_WIDE; k++) {
            const __m256i word = _mm256_loadu_si256(at + k);
            const __m256i x = _mm256_xor_si256(word, _mm256_loadu_si256(key + k));

            words[k] = _mm256_add_epi64(words[k], word);
            products[k] =
                _mm256_add_epi64(products[k], _mm256_mul_epu32(x, _mm256_srli_epi64(x, 32)));
        }
    }
    add_to(lanes->products, products);
    add_to(lanes->words, words);
}
#else
void tc_lanes_add_wide(struct tc_lanes *lanes, const void *stripes, size_t n, const uint64_t *keys)
{
    tc_lanes_add(lanes, stripes, n, keys);
}
#endif
