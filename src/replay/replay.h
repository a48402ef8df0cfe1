/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - records in, events out
 *
 * The only code that knows about the order of records, unmatched calls, torn
 * tails, threads and ranks. Memory is bounded by the calls that are open and
 * the variables that live. What happens in one process is reported without regard
 * to others: records of different processes may be fed in any order.
 */
#ifndef TC_REPLAY_REPLAY_H
#define TC_REPLAY_REPLAY_H

#include "replay/event.h"
#include <traincheck/trace.h>

struct tc_replay;
struct tc_batch; /* trace/batch.h */

typedef void tc_event_fn(void *context, const struct tc_event *event);

/* symbols and notes are borrowed and must outlive the replay. */
struct tc_replay *tc_replay_new(struct tc_strtab *symbols, struct tc_notes *notes,
                                tc_event_fn *on_event, void *context);
void tc_replay_free(struct tc_replay *replay);

/* Tell also of calls that begin and of each record of a variable. */
void tc_replay_look_closely(struct tc_replay *replay);

/* Before processes are announced: take the trace as if calls of these APIs had not been recorded.
 * names are borrowed; NULL: all were. */
void tc_replay_leave_out(struct tc_replay *replay, const struct tc_strtab *names);

/* Announce process i (counting from 0, in order) by its first record, which must outlive the
 * replay. */
void tc_replay_add_process(struct tc_replay *replay, const char *file,
                           const struct tc_record *process);
/* The record need not outlive the call. */
void tc_replay_feed(struct tc_replay *replay, size_t process, const struct tc_record *record);
/* The records of a batch: what is still open after it is copied. */
void tc_replay_feed_batch(struct tc_replay *replay, const struct tc_batch *batch);
/* Judge now what still waits, in steps before this one, for processes that are silent. */
void tc_replay_pass(struct tc_replay *replay, int64_t step);
/* After the last record: what waits is judged, what is still open is noted and forgotten. */
void tc_replay_finish(struct tc_replay *replay);

/* Process i as it is now. */
const struct tc_process *tc_replay_process(const struct tc_replay *replay, size_t i);

struct tc_replay_counts {
    uint64_t n_records, n_calls, n_windows, n_step_windows, n_variables;
};

struct tc_replay_counts tc_replay_counts(const struct tc_replay *replay);

/*
 * Feed a whole folder: announce, feed, finish. progress may be NULL; false interrupts.
 * ahead: a second thread reads; then the notes of the folder must be others than those of the
 * replay.
 */
enum tc_status tc_replay_folder(struct tc_replay *replay, struct tc_trace_folder *folder,
                                bool ahead, bool (*progress)(void *context, uint64_t json_bytes),
                                void *context, struct tc_error *err);

#endif /* TC_REPLAY_REPLAY_H */
