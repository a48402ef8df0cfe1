/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - fills a batch until its arena has ENOUGH bytes
 *
 * A foreign record ends a batch at once, as what it points to is valid only until the next is
 * read. The status behind the last record is kept with the batch, so the reader of it learns of an
 * end or an error in order.
 */
#include "trace/batch.h"

/* Bytes of text and values: what a core's own cache holds, beside what is done with them. */
#define ENOUGH ((size_t)128 << 10)

void tc_batch_read(struct tc_batch *batch, struct tc_trace_folder *folder)
{
    struct tc_batch_item item;

    tc_arena_reset(&batch->arena);
    batch->items.n = 0;
    batch->is_foreign = false;
    do {
        batch->status =
            tc_trace_folder_take(folder, &batch->arena, &item.file, &item.record, &batch->err);
        if (batch->status)
            break;
        tc_vec_push(&batch->items, item);
        batch->is_foreign = item.record->foreign;
    } while (!batch->is_foreign && batch->arena.total < ENOUGH);
    batch->json_bytes = tc_trace_folder_json_bytes(folder);
}

void tc_batch_release(struct tc_batch *batch)
{
    tc_arena_release(&batch->arena);
    tc_vec_release(&batch->items);
}
