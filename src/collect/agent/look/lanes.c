/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.c - the sum over memory: eight lanes, chunk by chunk
 *
 * Keys and the tails of zeros are made once, by whichever thread comes first. What a last chunk
 * lacks is added from the table of zeros, and not read. The inner loop exists twice, in C and with
 * AVX2 (tc_lanes_add_wide), and gives the same. Needs no lock.
 */
#include "collect/agent/look/lanes.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "collect/agent/look/wide.h"

#define STRIPE_SIZE (TC_LANES * sizeof(uint64_t))

static uint64_t keys[TC_STRIPES * TC_LANES];
/* What the zeros from a stripe on to the end of its chunk add to the products. */
static uint64_t zeros[TC_STRIPES + 1][TC_LANES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (size_t i = 0; i < TC_STRIPES * TC_LANES; i++)
        keys[i] = tc_lanes_key(i);
    for (size_t i = TC_STRIPES; i > 0; i--)
        for (size_t lane = 0; lane < TC_LANES; lane++)
            zeros[i - 1][lane] =
                zeros[i][lane] + tc_lanes_product(0, keys[(i - 1) * TC_LANES + lane]);
}

/* Little-endian, as all that torch runs on. */
void tc_lanes_add(struct tc_lanes *lanes, const void *stripes, size_t n, const uint64_t *key)
{
    const unsigned char *at = stripes;
    uint64_t words[TC_LANES];

    for (size_t i = 0; i < n; i++, at += sizeof(words), key += TC_LANES) {
        memcpy(words, at, sizeof(words));
        for (size_t lane = 0; lane < TC_LANES; lane++) {
            lanes->products[lane] += tc_lanes_product(words[lane], key[lane]);
            lanes->words[lane] += words[lane];
        }
    }
}

static void add_stripes(struct tc_lanes *lanes, const void *stripes, size_t n, size_t first)
{
#if TC_WIDE
    if (tc_has_wide_registers()) {
        tc_lanes_add_wide(lanes, stripes, n, keys + first * TC_LANES);
        return;
    }
#endif
    tc_lanes_add(lanes, stripes, n, keys + first * TC_LANES);
}

static uint64_t place_all(const struct tc_lanes *lanes, uint64_t chunk)
{
    uint64_t sum = 0;

    for (size_t lane = 0; lane < TC_LANES; lane++)
        sum += tc_lanes_place(lanes->products[lane] + lanes->words[lane ^ 1], chunk, lane);
    return sum;
}

/* The last chunk, of size > 0 bytes. */
static uint64_t sum_of_rest(const unsigned char *data, size_t size, uint64_t chunk)
{
    struct tc_lanes lanes = {{0}, {0}};
    size_t n = size / STRIPE_SIZE;
    unsigned char last[STRIPE_SIZE] = {0};

    add_stripes(&lanes, data, n, 0);
    if (size % STRIPE_SIZE) {
        memcpy(last, data + n * STRIPE_SIZE, size % STRIPE_SIZE);
        add_stripes(&lanes, last, 1, n++);
    }
    for (size_t lane = 0; lane < TC_LANES; lane++)
        lanes.products[lane] += zeros[n][lane];
    return place_all(&lanes, chunk);
}

uint64_t tc_lanes_sum(const void *data, size_t size)
{
    const unsigned char *at = data;
    uint64_t sum = 0, chunk = 0;

    pthread_once(&once, make_tables);
    for (; size >= TC_CHUNK_SIZE; size -= TC_CHUNK_SIZE, at += TC_CHUNK_SIZE) {
        struct tc_lanes lanes = {{0}, {0}};

        add_stripes(&lanes, at, TC_STRIPES, 0);
        sum += place_all(&lanes, chunk++);
    }
    return size ? sum + sum_of_rest(at, size, chunk) : sum;
}
