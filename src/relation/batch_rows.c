/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_rows.c - the rows of batches that loaders returned, until a model is given them
 */
#include "relation/batch_rows.h"

#include "base/hash.h"

#define MAX_BATCHES 256
#define MAX_DEPTH   4 /* of a batch in lists and dictionaries */
#define ROW_DIGITS  8

static void note_rows(struct tc_map *batches, const struct tc_value *tensor, int64_t iterator)
{
    const struct tc_str rows = tc_value_str(tc_value_get(tensor, "rows"));
    const uint64_t content = tc_content_of(tensor), n = rows.size / ROW_DIGITS;
    struct tc_batch_rows *batch;

    if (!content || !n)
        return;
    if (batches->n >= MAX_BATCHES)
        tc_map_release_structs(batches);
    tc_free(tc_map_find(batches, content));
    tc_map_remove(batches, content);
    batch = tc_map_struct(batches, content, sizeof(*batch) + n * sizeof(batch->rows[0]));
    batch->iterator = iterator;
    batch->n = n;
    for (size_t i = 0; i < n; i++)
        batch->rows[i] = tc_hash64(rows.text + i * ROW_DIGITS, ROW_DIGITS, 0);
}

static void note_batch(struct tc_map *batches, const struct tc_value *v, int64_t iterator,
                       unsigned depth)
{
    const struct tc_value *dict = tc_value_get(v, "dict");

    if (!v || !depth)
        return;
    if (tc_value_get(v, "rows"))
        note_rows(batches, v, iterator);
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        note_batch(batches, &v->items[i], iterator, depth - 1);
    for (uint32_t i = 0; dict && i < dict->n; i++)
        note_batch(batches, &dict->members[i].value, iterator, depth - 1);
}

void tc_batch_rows_note(struct tc_map *batches, const struct tc_value *returned, int64_t iterator)
{
    note_batch(batches, returned, iterator, MAX_DEPTH);
}

struct tc_batch_rows *tc_batch_rows_take(struct tc_map *batches, const struct tc_call *forward)
{
    const struct tc_value *operand;
    struct tc_batch_rows *batch = NULL;
    uint64_t content = 0;

    for (uint32_t pos = 0; !batch && (operand = tc_call_next_tensor(forward, &pos));)
        if ((content = tc_content_of(operand)))
            batch = tc_map_find(batches, content);
    if (batch)
        tc_map_remove(batches, content);
    return batch;
}
