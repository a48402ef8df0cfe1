/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c - how fast digests are made, beside XXH3 (with AVX2 where this is compiled for it), and
 * sketches of float32
 *
 *   cmake --build build --target digest_speed && build/tests/bin/digest_speed
 *
 * Of each size the best of 5 turns, the three by turns.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collect/agent/look/digest.h"
#include "collect/agent/look/sketch.h"

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

static uint64_t sketch(const void *data, size_t size, uint64_t seed)
{
    struct tc_sketch s;

    return seed + tc_sketch_take(data, size / sizeof(float), TC_NUMBER_F32, &s) + (s.norm > 1);
}

/* Seconds of one digest, or sketch. */
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
    static const char *const names[] = {" XXH3", ", nh64", ", sketch"};
    static const size_t sizes[] = {4, 64, 1024, 4096, 65536, (size_t)1 << 20, MAX_SIZE};
    static uint64_t (*const all[])(const void *, size_t, uint64_t) = {xxh3, tc_digest, sketch};
    float *data = malloc(MAX_SIZE);

    for (size_t i = 0; data && i < MAX_SIZE / sizeof(*data); i++)
        data[i] = (float)(uint32_t)(i * 2654435761u) * 0x1p-32F - 0.5F;
    for (size_t s = 0; data && s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        double best[3] = {1e9, 1e9, 1e9};

        for (int turn = 0; turn < 3 * N_TURNS; turn++) {
            const double t = take(all[turn % 3], data, sizes[s]);
            best[turn % 3] = t < best[turn % 3] ? t : best[turn % 3];
        }
        printf("%9zu bytes:", sizes[s]);
        for (size_t i = 0; i < 3; i++)
            printf("%s %11.1f ns %5.1f GB/s", names[i], best[i] * 1e9,
                   (double)sizes[s] / best[i] * 1e-9);
        printf("\n");
    }
    free(data);
    return data ? 0 : 1;
}
