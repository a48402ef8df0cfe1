/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.h - a growing folder fed to the engine: what to read next, and whom to wait for
 *
 * No loop, no timers: the caller says what time it is.
 */
#ifndef TC_ONLINE_FOLLOW_H
#define TC_ONLINE_FOLLOW_H

#include "report/run.h"

struct tc_follow;

/* check is borrowed and has its engine; path is that of the trace. */
struct tc_follow *tc_follow_new(struct tc_check *check, const char *path, uint64_t lateness_ms,
                                uint64_t now_ms);
void tc_follow_free(struct tc_follow *follow);

/* Look for new files and new bytes. TC_E_NOTFOUND if there is no folder now. */
enum tc_status tc_follow_refresh(struct tc_follow *follow, uint64_t now_ms, struct tc_error *err);
/* Feed up to n records; TC_END when all that may be read now was read. */
enum tc_status tc_follow_read(struct tc_follow *follow, size_t n, struct tc_error *err);
/* Stop waiting for ranks that are silent for too long. */
void tc_follow_relieve(struct tc_follow *follow, uint64_t now_ms);
/* Nothing more will come. is_whole: the run is over; else the check alone ends here. */
enum tc_status tc_follow_finish(struct tc_follow *follow, bool is_whole, struct tc_error *err);

size_t tc_follow_n_files(const struct tc_follow *follow);
/* Name of file i. */
const char *tc_follow_file(const struct tc_follow *follow, size_t i);
/* When something new was last found. */
uint64_t tc_follow_grown_ms(const struct tc_follow *follow);
/* Has every process that is to be expected written that it ended? */
bool tc_follow_has_ended(const struct tc_follow *follow);
/* Put what was read so far into the result of the check. */
void tc_follow_count(struct tc_follow *follow);
/* The highest step read, but for processes whose place another one took. */
int64_t tc_follow_step(const struct tc_follow *follow);
/* From now on the calls that are open are known, so that it can be said who waits. */
void tc_follow_know_calls(struct tc_follow *follow);
/* How the ranks stand, of which nothing came for so long (hang.h); the caller owns it. */
struct tc_json *tc_follow_hang(const struct tc_follow *follow, uint64_t quiet_s);
/* Tell processes that keep their traces short in which steps something was found (found_steps.h).
 */
enum tc_status tc_follow_mark(struct tc_follow *follow, struct tc_error *err);
/* Delete from the trace what was checked, but around findings (deleting.h); *freed: bytes of disk
 * so far. */
enum tc_status tc_follow_delete(struct tc_follow *follow, uint64_t now_ms, uint64_t *freed,
                                struct tc_error *err);
/* How far the reading is behind the writing. */
int64_t tc_follow_lag_ns(const struct tc_follow *follow);
/* Bytes of JSON read so far. */
uint64_t tc_follow_json_bytes(const struct tc_follow *follow);

#endif /* TC_ONLINE_FOLLOW_H */
