/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - refreshes the folder, reads so many records, relieves those who wait for a rank
 *
 * A second thread reads while records are replayed, and rests between two calls of
 * tc_follow_read(): nothing that was read then waits to be replayed. So replay has notes of its
 * own.
 *
 * A process counts as live while its file grows, or for `lateness` after; the slowest live one
 * decides how far steps may be judged without the others. If much is held the fast files are not
 * read on. A run is over when all was read and each process has ended or was replaced by a restart
 * of it.
 */
#include "online/follow.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "online/deleting.h"
#include "online/flight.h"
#include "online/hang.h"
#include "trace/batch.h"
#include "trace/lag.h"
#include "trace/reader_notes.h"

/* When so much waits for slower ranks, the faster ones are not read on: their files can wait. */
#define MAX_HELD ((size_t)16 << 20)

#define N_SLOTS 8 /* batches that are read ahead */

/* What is known of a file beside where its reading stands. */
struct file {
    int64_t size;
    uint64_t grown_ms;
};

struct tc_follow {
    struct tc_check *check;
    struct tc_trace_folder *folder;
    struct tc_replay *replay;
    struct tc_notes *replayed; /* notes of the replay, until they are taken */
    struct tc_batch batches[N_SLOTS];
    bool reads_ahead;
    struct tc_hang *hang; /* NULL: nobody asks who waits */
    struct tc_found_steps found;
    struct tc_deleting *deleting; /* NULL: nothing was deleted yet */
    TC_VEC(struct file) files;
    uint64_t lateness_ms;
    uint64_t began_ms, grown_ms;
    uint64_t held_ms; /* since when something waits for other ranks; 0: nothing does */
};

struct tc_follow *tc_follow_new(struct tc_check *check, const char *path, uint64_t lateness_ms,
                                uint64_t now_ms)
{
    struct tc_follow *f = tc_calloc(1, sizeof(*f));

    f->check = check;
    f->folder = tc_trace_folder_watch(path, check->notes);
    f->replayed = tc_notes_new();
    f->replay = tc_replay_new(check->symbols, f->replayed, tc_check_judge, check);
    tc_replay_leave_out(f->replay, check->left_out);
    f->reads_ahead = tc_pool_cores() > 1;
    if (tc_engine_looks_closely(check->engine))
        tc_replay_look_closely(f->replay);
    f->lateness_ms = lateness_ms;
    f->began_ms = f->grown_ms = now_ms;
    tc_engine_begin(check->engine, path);
    return f;
}

void tc_follow_free(struct tc_follow *follow)
{
    if (!follow)
        return;
    tc_hang_free(follow->hang);
    tc_deleting_free(follow->deleting);
    tc_found_steps_release(&follow->found);
    tc_replay_free(follow->replay);
    tc_notes_free(follow->replayed);
    for (size_t i = 0; i < N_SLOTS; i++)
        tc_batch_release(&follow->batches[i]);
    tc_trace_folder_close(follow->folder);
    tc_vec_release(&follow->files);
    tc_free(follow);
}

static void take_files(struct tc_follow *f, uint64_t now_ms)
{
    while (f->files.n < tc_trace_folder_n_files(f->folder)) {
        const struct tc_trace_file *file = tc_trace_folder_file(f->folder, f->files.n);

        tc_replay_add_process(f->replay, tc_trace_file_name(file), tc_trace_file_process(file));
        tc_vec_push(&f->files, ((struct file){-1, now_ms}));
        f->reads_ahead &= !tc_trace_file_is_foreign(file); /* its records do not wait */
    }
}

enum tc_status tc_follow_refresh(struct tc_follow *f, uint64_t now_ms, struct tc_error *err)
{
    size_t n_grown;
    enum tc_status status = tc_trace_folder_refresh(f->folder, &n_grown, err);

    take_files(f, now_ms);
    for (size_t i = 0; i < f->files.n; i++) {
        const struct tc_trace_progress progress = tc_trace_folder_progress(f->folder, i);
        if (f->files.items[i].size != progress.size)
            f->files.items[i].grown_ms = now_ms;
        f->files.items[i].size = progress.size;
    }
    if (n_grown)
        f->grown_ms = now_ms;
    return status;
}

/* ---- ranks --------------------------------------------------------------------------------- */

/* Does a step wait for this process? */
static bool is_replica(const struct tc_process *process)
{
    return !process->is_worker && process->world > 1 && process->rank >= 0;
}

/* A process whose reports may still come. */
static bool is_live(const struct tc_follow *f, size_t i, uint64_t now_ms)
{
    const struct tc_trace_progress progress = tc_trace_folder_progress(f->folder, i);

    if (!is_replica(tc_replay_process(f->replay, i)) || (progress.is_dry && progress.has_ended))
        return false;
    return !progress.is_dry || now_ms < f->files.items[i].grown_ms + f->lateness_ms;
}

/* Does every rank of the world have a file? */
static bool has_all_ranks(const struct tc_follow *f)
{
    int64_t world = 1, n = 0;
    struct tc_map ranks = TC_MAP_INIT;

    for (size_t i = 0; i < f->files.n; i++) {
        const struct tc_process *process = tc_replay_process(f->replay, i);
        bool is_new;

        if (!is_replica(process))
            continue;
        world = process->world > world ? process->world : world;
        tc_map_at(&ranks, (uint64_t)process->rank, &is_new);
    }
    n = (int64_t)ranks.n;
    tc_map_release(&ranks);
    return world == 1 || n >= world;
}

/* The step that the slowest rank has reached; -1 while one may come that has no file yet. */
static int64_t slowest_step(const struct tc_follow *f, uint64_t now_ms)
{
    int64_t least = INT64_MAX;

    if (now_ms < f->began_ms + f->lateness_ms && !has_all_ranks(f))
        return -1;
    for (size_t i = 0; i < f->files.n; i++) {
        int64_t step = tc_trace_folder_progress(f->folder, i).step;
        if (step < least && is_live(f, i, now_ms))
            least = step;
    }
    return least;
}

void tc_follow_relieve(struct tc_follow *f, uint64_t now_ms)
{
    size_t held = tc_engine_held(f->check->engine);

    if (!held)
        f->held_ms = 0;
    else if (!f->held_ms)
        f->held_ms = now_ms;
    else if (now_ms >= f->held_ms + f->lateness_ms)
        tc_replay_pass(f->replay, slowest_step(f, now_ms));
    tc_trace_folder_limit(f->folder, held > MAX_HELD ? slowest_step(f, now_ms) : INT64_MAX);
}

enum tc_status tc_follow_mark(struct tc_follow *f, struct tc_error *err)
{
    tc_found_steps_take(&f->found, f->check->engine);
    return tc_found_steps_mark(&f->found, f->folder, err);
}

/* Steps before the one that the slowest rank is in were judged. */
enum tc_status tc_follow_delete(struct tc_follow *f, uint64_t now_ms, uint64_t *freed,
                                struct tc_error *err)
{
    tc_found_steps_take(&f->found, f->check->engine);
    if (!f->deleting)
        f->deleting = tc_deleting_new(f->folder, &f->found);
    const enum tc_status status = tc_deleting_run(f->deleting, slowest_step(f, now_ms), err);
    *freed = tc_deleting_freed(f->deleting);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

struct reading {
    struct tc_follow *follow;
    size_t left; /* records to read, which the reading thread counts */
    enum tc_status status;
    struct tc_error *err;
};

static bool read_batch(void *context, size_t slot)
{
    struct reading *r = context;
    struct tc_batch *batch = &r->follow->batches[slot];

    tc_batch_read(batch, r->follow->folder);
    r->left -= batch->items.n < r->left ? batch->items.n : r->left;
    return !batch->status && r->left;
}

static bool replay_batch(void *context, size_t slot)
{
    struct reading *r = context;
    struct tc_follow *f = r->follow;
    const struct tc_batch *batch = &f->batches[slot];

    for (size_t i = 0; f->hang && i < batch->items.n; i++)
        tc_hang_feed(f->hang, batch->items.items[i].file, batch->items.items[i].record);
    tc_replay_feed_batch(f->replay, batch);
    r->status = batch->status;
    if (r->status && r->status != TC_END)
        tc_error_set(r->err, r->status, "%s", batch->err.text);
    return !r->status;
}

enum tc_status tc_follow_read(struct tc_follow *f, size_t n, struct tc_error *err)
{
    struct reading r = {.follow = f, .left = n, .err = err};
    bool goes_on;

    /* Mostly there is no more than one batch. */
    do
        goes_on = read_batch(&r, 0);
    while (replay_batch(&r, 0) && goes_on && !f->reads_ahead);
    if (goes_on && !r.status)
        tc_pool_relay(N_SLOTS, read_batch, replay_batch, &r);
    tc_notes_take(f->check->notes, f->replayed);
    return r.status;
}

void tc_follow_know_calls(struct tc_follow *f)
{
    f->hang = tc_hang_new();
}

static const struct tc_process *process_of(void *context, size_t i)
{
    return tc_replay_process(context, i);
}

struct tc_json *tc_follow_hang(const struct tc_follow *f, uint64_t quiet_s)
{
    const char *trace = f->check->config->traces[0];
    struct tc_json *finding =
        tc_hang_finding(f->hang, f->files.n, process_of, f->replay, quiet_s, trace);

    tc_flight_add(finding, trace, f->check->notes);
    return finding;
}

enum tc_status tc_follow_finish(struct tc_follow *f, bool is_whole, struct tc_error *err)
{
    enum tc_status status;

    if (is_whole)
        tc_trace_folder_finish(f->folder);
    take_files(f, f->grown_ms);
    tc_trace_folder_limit(f->folder, INT64_MAX);
    status = tc_follow_read(f, SIZE_MAX, err);
    tc_replay_finish(f->replay);
    tc_notes_take(f->check->notes, f->replayed);
    return status == TC_END ? TC_OK : status;
}

size_t tc_follow_n_files(const struct tc_follow *f)
{
    return f->files.n;
}

const char *tc_follow_file(const struct tc_follow *f, size_t i)
{
    return tc_trace_file_name(tc_trace_folder_file(f->folder, i));
}

uint64_t tc_follow_grown_ms(const struct tc_follow *f)
{
    return f->grown_ms;
}

/* What is asked of all processes to find those that another one took the place of. */
struct successors {
    struct tc_map latest;  /* rank -> unix_ns of its last start */
    struct tc_map parents; /* host and pid -> the process */
};

static uint64_t key_of_process(const struct tc_process *process, int64_t pid)
{
    return tc_hash64(process->host.text, process->host.size, (uint64_t)pid);
}

static void add_successor(struct successors *s, const struct tc_process *process)
{
    bool is_new;
    uint64_t *latest, *parent;

    if (process->is_worker)
        return;
    parent = tc_map_at(&s->parents, key_of_process(process, process->pid), &is_new);
    if (is_new)
        *parent = (uintptr_t)process;
    if (process->rank < 0)
        return;
    latest = tc_map_at(&s->latest, (uint64_t)process->rank, &is_new);
    if (is_new || process->unix_ns > (int64_t)*latest)
        *latest = (uint64_t)process->unix_ns;
}

/* Has a process begun that took the place of this one? A launcher restarts a rank after its end.
 * A worker goes with the process that it works for. */
static bool is_left_behind(const struct successors *s, const struct tc_process *process)
{
    uint64_t found;

    if (process->is_worker) {
        process = tc_map_find(&s->parents, key_of_process(process, process->parent_pid));
        if (!process)
            return false;
    }
    /* One that has told nothing with a time yet is not its own successor. */
    return process->rank >= 0 && tc_map_get(&s->latest, (uint64_t)process->rank, &found) &&
           (int64_t)found > process->unix_ns && (int64_t)found > tc_process_lived_until(process);
}

static void find_successors(const struct tc_follow *f, struct successors *out)
{
    *out = (struct successors){.latest = TC_MAP_INIT};
    for (size_t i = 0; i < f->files.n; i++)
        add_successor(out, tc_replay_process(f->replay, i));
}

static void release_successors(struct successors *successors)
{
    tc_map_release(&successors->latest);
    tc_map_release(&successors->parents);
}

/* All was read, and who did not end well was replaced. */
static bool are_over(const struct tc_follow *f)
{
    struct successors successors;
    bool is_over = true;

    for (size_t i = 0; i < f->files.n && is_over; i++)
        is_over = tc_trace_folder_progress(f->folder, i).is_dry;
    if (!is_over)
        return false;
    find_successors(f, &successors);
    for (size_t i = 0; i < f->files.n && is_over; i++)
        is_over = tc_trace_folder_progress(f->folder, i).has_ended ||
                  is_left_behind(&successors, tc_replay_process(f->replay, i));
    release_successors(&successors);
    return is_over;
}

bool tc_follow_has_ended(const struct tc_follow *f)
{
    return f->files.n && !tc_trace_folder_n_candidates(f->folder) && are_over(f) &&
           has_all_ranks(f);
}

int64_t tc_follow_step(const struct tc_follow *f)
{
    struct successors successors;
    int64_t highest = 0;

    find_successors(f, &successors);
    for (size_t i = 0; i < f->files.n; i++) {
        const int64_t step = tc_trace_folder_progress(f->folder, i).step;

        if (step > highest && !is_left_behind(&successors, tc_replay_process(f->replay, i)))
            highest = step;
    }
    release_successors(&successors);
    return highest;
}

int64_t tc_follow_lag_ns(const struct tc_follow *f)
{
    return tc_trace_folder_lag_ns(f->folder);
}

void tc_follow_count(struct tc_follow *f)
{
    struct tc_check_result *result = f->check->result;

    result->n_records = result->n_calls = result->n_windows = result->json_bytes = 0;
    tc_check_count_trace(f->check, f->replay, f->folder);
}

uint64_t tc_follow_json_bytes(const struct tc_follow *f)
{
    return tc_trace_folder_json_bytes(f->folder);
}
