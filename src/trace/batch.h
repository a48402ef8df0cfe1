/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - records of a folder, with all that they point to
 *
 * Some hundred records that live together: who works on them needs no copies, and the next ones can
 * be read meanwhile.
 */
#ifndef TC_TRACE_BATCH_H
#define TC_TRACE_BATCH_H

#include "base/arena.h"
#include "base/vec.h"
#include <traincheck/trace.h>

struct tc_batch_item {
    size_t file; /* its index in the folder */
    const struct tc_record *record;
};

/* All zero to begin with. */
struct tc_batch {
    struct tc_arena arena;
    TC_VEC(struct tc_batch_item) items;
    uint64_t json_bytes; /* decoded by the folder so far */
    enum tc_status
        status;          /* why it has no more items: TC_OK if there may be a next batch, TC_END */
    struct tc_error err; /* of any other status */
    bool is_foreign;     /* its last record lives only until the next batch is read */
};

/* In the order of tc_trace_folder_next. What the batch held before is gone. */
void tc_batch_read(struct tc_batch *batch, struct tc_trace_folder *folder);
void tc_batch_release(struct tc_batch *batch);

#endif /* TC_TRACE_BATCH_H */
