/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.c - small tables of what was met, by keys that say nothing but "the same again"
 *
 * Keys are hashes of operands, digests or rows; a first occasion answers NULL or "never asked", as
 * it is no fact. Tables that would grow with the data stop taking new keys at a limit. Sizes are
 * judged by a wider ratio than they are learned by.
 */
#include "fact/history.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "fact/rule.h"
#include "fact/tensor_content.h"
#include "relation/form.h"

/* So many calls are known by their operands. */
#define MAX_KNOWN ((size_t)1 << 18)
/* Sizes are alike up to this factor: a loss falls between epochs, and batches differ. */
#define MAX_RATIO 5.0F

void tc_fact_history_release(struct tc_fact_history *history)
{
    tc_map_release(&history->operands);
    tc_map_release(&history->sizes);
    tc_map_release(&history->trained);
    tc_map_release(&history->earlier);
    for (size_t i = 0; i < TC_FACT_BATCHES; i++)
        tc_strbuf_release(&history->batches_of_rows[i].rows);
}

static enum tc_fact_again meet_key(struct tc_map *map, uint64_t key)
{
    bool is_new;

    if (map->n >= MAX_KNOWN)
        tc_map_clear(map);
    *tc_map_at(map, key, &is_new) = 1;
    return is_new ? TC_FACT_NEW : TC_FACT_AGAIN;
}

enum tc_fact_again tc_fact_meet_operands(struct tc_fact_history *history, uint64_t call,
                                         const struct tc_fact_pack *pack)
{
    uint64_t key = tc_hash_mix(0, call, pack->n_tensors);

    if (!pack->n_tensors)
        return TC_FACT_NEVER_ASKED;
    for (size_t i = 0; i < pack->n_tensors; i++)
        key = tc_hash_mix(key, (uint64_t)pack->tensors[i], i);
    return meet_key(&history->operands, key);
}

/* Of later rows nothing is reported: a long run must not grow with its data. */
#define MAX_ROWS 8192
/* Digits of a row. */
#define ROW 8

/* Few may be equal by chance. */
static const char *share(size_t n, size_t of)
{
    return n == 0                   ? TC_FACT_NONE
           : n * TC_FACT_PARTS < of ? TC_FACT_FEW
           : n < of                 ? TC_FACT_SOME
                                    : "\"all\"";
}

void tc_fact_keep_rows(struct tc_fact_history *history, uint64_t digest, struct tc_str rows)
{
    struct tc_fact_batch *batch = &history->batches_of_rows[history->next_batch];

    if (!rows.text || !digest)
        return;
    history->next_batch = (history->next_batch + 1) % TC_FACT_BATCHES;
    batch->digest = digest;
    tc_strbuf_reset(&batch->rows);
    tc_strbuf_add(&batch->rows, rows.text, rows.size);
}

struct tc_str tc_fact_rows_of(const struct tc_fact_history *history, uint64_t digest)
{
    for (size_t i = 0; digest && i < TC_FACT_BATCHES; i++) {
        const struct tc_fact_batch *batch = &history->batches_of_rows[i];
        if (batch->digest == digest)
            return (struct tc_str){batch->rows.text, (uint32_t)batch->rows.size};
    }
    return (struct tc_str){NULL, 0};
}

const char *tc_fact_meet_trained(struct tc_fact_history *history, struct tc_str rows,
                                 size_t n_elements, uint64_t place, bool is_training)
{
    size_t n_known = 0;
    uint64_t known;

    if (!rows.text || rows.size < ROW || history->trained.n >= MAX_ROWS)
        return NULL;
    const uint64_t width = tc_hash_mix(n_elements / (rows.size / ROW), place, 1);
    if (is_training)
        tc_map_put(&history->trained, width, 1);
    else if (!tc_map_get(&history->trained, width, &known))
        return NULL;
    for (size_t at = 0; at + ROW <= rows.size; at += ROW) {
        const uint64_t row = tc_hash64(rows.text + at, ROW, place);
        if (is_training)
            tc_map_put(&history->trained, row, 1);
        else
            n_known += tc_map_get(&history->trained, row, &known);
    }
    return is_training ? NULL : share(n_known, rows.size / ROW);
}

const char *tc_fact_meet_earlier(struct tc_fact_history *history, uint64_t operand, uint64_t step)
{
    uint64_t *first;
    bool is_new;

    if (history->earlier.n >= MAX_ROWS)
        return NULL;
    first = tc_map_at(&history->earlier, operand, &is_new);
    if (is_new)
        *first = step;
    return *first < step ? "true" : "false";
}

/* Between which sizes those in training lay. */
struct sizes {
    float low, high;
};

const char *tc_fact_meet_size(struct tc_fact_history *history, uint64_t place, double size,
                              bool is_training)
{
    bool is_new;
    uint64_t *known = tc_map_at(&history->sizes, place, &is_new);
    struct sizes before = {NAN, NAN};
    const float now = (float)fabs(size);

    if (!is_new)
        memcpy(&before, known, sizeof(before));
    if (is_training) { /* fminf() takes the number, where the other is none */
        before.low = fminf(before.low, now);
        before.high = fmaxf(before.high, now);
    }
    memcpy(known, &before, sizeof(before));
    if (is_training || isnan(before.low) || !isfinite(now))
        return NULL;
    if (now > MAX_RATIO * before.high)
        return "larger";
    return now * MAX_RATIO < before.low ? "smaller" : "like";
}
