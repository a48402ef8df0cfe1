/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_folder.c - a whole folder, read by the same thread or by another
 */
#include "base/pool.h"
#include "replay/replay.h"
#include "trace/batch.h"

#define N_SLOTS 8

/* A folder on its way from records to events. */
struct reading {
    struct tc_replay *replay;
    struct tc_trace_folder *folder;
    struct tc_batch batches[N_SLOTS];
    bool (*progress)(void *context, uint64_t json_bytes);
    void *context;
    enum tc_status status; /* TC_OK while it goes on */
    struct tc_error *err;
};

static bool read_batch(void *context, size_t slot)
{
    struct reading *r = context;

    tc_batch_read(&r->batches[slot], r->folder);
    return !r->batches[slot].status;
}

static bool replay_batch(void *context, size_t slot)
{
    struct reading *r = context;
    const struct tc_batch *batch = &r->batches[slot];

    tc_replay_feed_batch(r->replay, batch);
    r->status = batch->status;
    if (r->status && r->status != TC_END)
        tc_error_set(r->err, r->status, "%s", batch->err.text);
    else if (r->progress && !r->progress(r->context, batch->json_bytes))
        r->status = tc_error_set(r->err, TC_E_INTERRUPTED, "interrupted");
    return !r->status;
}

enum tc_status tc_replay_folder(struct tc_replay *replay, struct tc_trace_folder *folder,
                                bool ahead, bool (*progress)(void *context, uint64_t json_bytes),
                                void *context, struct tc_error *err)
{
    struct reading r = {
        .replay = replay, .folder = folder, .progress = progress, .context = context, .err = err};

    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_trace_file *f = tc_trace_folder_file(folder, i);
        tc_replay_add_process(replay, tc_trace_file_name(f), tc_trace_file_process(f));
        ahead &= !tc_trace_file_is_foreign(f); /* their records do not wait */
    }
    if (ahead)
        tc_pool_relay(N_SLOTS, read_batch, replay_batch, &r);
    else
        while (read_batch(&r, 0), replay_batch(&r, 0))
            ;
    for (size_t i = 0; i < N_SLOTS; i++)
        tc_batch_release(&r.batches[i]);
    if (r.status != TC_END)
        return r.status;
    tc_replay_finish(replay);
    return TC_OK;
}
