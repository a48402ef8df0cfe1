/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - the one door to xxHash: XXH3, 64 bits
 */
#ifndef TC_BASE_HASH_H
#define TC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

uint64_t tc_hash64(const void *data, size_t size, uint64_t seed);

/*
 * Two words into a running hash: both halves of a 128-bit product, as in wyhash. For what is hashed
 * a few bytes at a time, where a call costs more than the work.
 */
static inline uint64_t tc_hash_mix(uint64_t hash, uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product =
        (wide)(hash ^ a ^ UINT64_C(0xa0761d6478bd642f)) * (b ^ UINT64_C(0xe7037ed1a0b428db));

    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ hash << 1;
}

/* The same of a text, mostly a short one. */
static inline uint64_t tc_hash_mix_text(uint64_t hash, const char *text, size_t size)
{
    uint64_t words[2] = {0, 0};
    uint32_t halves[2];

    hash ^= (uint64_t)size << 32;
    for (; size > 16; text += 16, size -= 16) {
        memcpy(words, text, 16);
        hash = tc_hash_mix(hash, words[0], words[1]);
    }
    if (size >= 8) {
        memcpy(&words[0], text, 8);
        memcpy(&words[1], text + size - 8, 8);
    } else if (size >= 4) {
        memcpy(&halves[0], text, 4);
        memcpy(&halves[1], text + size - 4, 4);
        words[0] = halves[0];
        words[1] = halves[1];
    } else if (size) {
        words[0] = (uint64_t)(unsigned char)text[0] << 16 |
                   (uint64_t)(unsigned char)text[size / 2] << 8 | (unsigned char)text[size - 1];
        words[1] = 0;
    }
    return tc_hash_mix(hash, words[0], words[1]);
}

#endif /* TC_BASE_HASH_H */
