/*
 * hash.h - the one door to xxHash: XXH3, 64 bits
 */
#ifndef TC_BASE_HASH_H
#define TC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t tc_hash64(const void *data, size_t size, uint64_t seed);

#endif /* TC_BASE_HASH_H */
