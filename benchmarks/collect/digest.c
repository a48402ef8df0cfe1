/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c - how fast digests are made, beside XXH3 (with AVX2 where this is compiled for it)
 *
 *   cmake --build build --target digest_speed && build/tests/bin/digest_speed
 *
 * Of each size the best of 5 turns, the two by turns.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collect/agent/look/digest.h"

#define MAX_SIZE ((size_t)64 << 20)
#define BYTES    ((size_t)256 << 20) /* of a turn */
#define MAX_REPS ((size_t)1 << 20)
#define N_TURNS  5

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t xxh3(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}

/* Seconds of one digest. */
static double take(uint64_t (*digest)(const void *, size_t, uint64_t), const void *data,
                   size_t size)
{
    static volatile uint64_t kept;
    const size_t n = BYTES / size < MAX_REPS ? BYTES / size : MAX_REPS;
    const double began = now();

    for (size_t i = 0; i < n; i++)
        kept = digest(data, size, kept);
    return (now() - began) / (double)n;
}

int main(void)
{
    static const size_t sizes[] = {4, 64, 1024, 4096, 65536, (size_t)1 << 20, MAX_SIZE};
    unsigned char *data = malloc(MAX_SIZE);

    for (size_t i = 0; data && i < MAX_SIZE; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 24);
    for (size_t s = 0; data && s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        double best[2] = {1e9, 1e9};

        for (int turn = 0; turn < 2 * N_TURNS; turn++) {
            const double t = take(turn % 2 ? tc_digest : xxh3, data, sizes[s]);
            best[turn % 2] = t < best[turn % 2] ? t : best[turn % 2];
        }
        printf("%9zu bytes: XXH3 %11.1f ns %5.1f GB/s, nh64 %11.1f ns %5.1f GB/s\n", sizes[s],
               best[0] * 1e9, (double)sizes[s] / best[0] * 1e-9, best[1] * 1e9,
               (double)sizes[s] / best[1] * 1e-9);
    }
    free(data);
    return data ? 0 : 1;
}
