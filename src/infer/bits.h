/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bits.h - sets of small numbers as words of bits
 */
#ifndef TC_INFER_BITS_H
#define TC_INFER_BITS_H

#include <stddef.h>
#include <stdint.h>

static inline size_t tc_bits_words(size_t n)
{
    return (n + 63) / 64;
}

static inline void tc_bits_set(uint64_t *bits, size_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline size_t tc_bits_count(const uint64_t *bits, size_t words)
{
    size_t n = 0;

    for (size_t i = 0; i < words; i++)
        n += (size_t)__builtin_popcountll(bits[i]);
    return n;
}

#endif /* TC_INFER_BITS_H */
