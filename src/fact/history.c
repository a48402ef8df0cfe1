/* SPDX-License-Identifier: Apache-2.0 */
#include "fact/history.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"
#include "base/hash.h"

/* So many calls are known by their operands. */
#define MAX_KNOWN ((size_t)1 << 18)
/* A draw of so many elements, of which so many differ, is no repetition by chance. */
#define MIN_DRAWN    16
#define MIN_DISTINCT 8
/* Sizes are alike up to this factor: a loss falls between epochs, and batches differ. */
#define MAX_RATIO 5.0
/* Weight of the newest number in the mean of those in training. */
#define NEWEST 0.1

void tc_fact_history_release(struct tc_fact_history *history)
{
    tc_map_release(&history->batches);
    tc_map_release(&history->operands);
    tc_map_release(&history->draws);
    tc_map_release(&history->sizes);
}

static enum tc_fact_again meet(struct tc_map *map, uint64_t key)
{
    bool is_new;

    if (map->n >= MAX_KNOWN)
        tc_map_clear(map);
    *tc_map_at(map, key, &is_new) = 1;
    return is_new ? TC_FACT_FRESH : TC_FACT_AGAIN;
}

enum tc_fact_again tc_fact_meet_operands(struct tc_fact_history *history, uint64_t call,
                                         const struct tc_fact_pack *pack)
{
    uint64_t key = tc_hash_mix(0, call, pack->n_tensors);

    if (!pack->n_tensors)
        return TC_FACT_NEVER_ASKED;
    for (size_t i = 0; i < pack->n_tensors; i++)
        key = tc_hash_mix(key, (uint64_t)pack->tensors[i], i);
    return meet(&history->operands, key);
}

static bool is_long(const struct tc_value *result)
{
    const struct tc_value *shape = tc_value_get(result, "shape");
    const struct tc_value *summary = tc_value_get(result, "summary");
    int64_t n = 1;

    if (!shape || shape->kind != TC_VALUE_ARRAY || !summary)
        return false;
    for (uint32_t i = 0; i < shape->n; i++)
        n *= tc_value_int(&shape->items[i], 0);
    return n >= MIN_DRAWN && tc_value_int(tc_value_get(summary, "distinct"), 0) >= MIN_DISTINCT;
}

enum tc_fact_again tc_fact_meet_draw(struct tc_fact_history *history, uint64_t call,
                                     const struct tc_value *result)
{
    const struct tc_str digest = tc_value_str(tc_value_get(result, "digest"));

    if (!digest.text || !is_long(result))
        return TC_FACT_NEVER_ASKED;
    return meet(&history->draws, tc_hash64(digest.text, digest.size, call));
}

const char *tc_fact_meet_batch(struct tc_fact_history *history, const struct tc_fact_pack *pack,
                               int64_t iterator)
{
    uint64_t digest = 0, *first;
    bool is_new;

    for (size_t i = 0; i < pack->n_tensors; i++)
        digest = pack->digests[i] ? tc_hash_mix(digest, pack->digests[i], i) : digest;
    if (!digest)
        return NULL;
    first = tc_map_at(&history->batches, digest, &is_new);
    if (is_new)
        *first = (uint64_t)iterator;
    return is_new ? "" : *first == (uint64_t)iterator ? "in this pass" : "in an earlier pass";
}

static double as_double(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint64_t as_bits(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

const char *tc_fact_meet_size(struct tc_fact_history *history, uint64_t place, double size,
                              bool is_training)
{
    bool is_new;
    uint64_t *known = tc_map_at(&history->sizes, place, &is_new);
    const double before = is_new ? NAN : as_double(*known);

    size = fabs(size);
    if (is_training)
        *known = as_bits(isnan(before) ? size : before + NEWEST * (size - before));
    else if (is_new)
        *known = as_bits(NAN);
    if (is_training || isnan(before) || !isfinite(size))
        return NULL;
    if (size > MAX_RATIO * before)
        return "larger";
    return size * MAX_RATIO < before ? "smaller" : "like";
}
