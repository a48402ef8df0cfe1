/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - writing one trace file
 *
 * Lines are gathered into frames of at most 1 MiB of JSON, closed when 0.4 s
 * have passed since their first line, and each frame reaches the file by
 * one write(2). The clock is the caller's, so that tests need not wait. The
 * descriptor may be closed, and its number used, by others: it is opened anew.
 */
#ifndef TC_TRACE_WRITER_H
#define TC_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include <traincheck/error.h>

#define TC_FRAME_SIZE   ((size_t)1 << 20) /* bytes of JSON */
#define TC_FRAME_AGE_NS UINT64_C(400000000)

struct tc_writer;

/* Create the file; it must not exist (TC_E_IO, "exists"). */
enum tc_status tc_writer_open(const char *path, struct tc_writer **out, struct tc_error *err);
/* Whole lines, each ending in '\n'. Lines longer than a frame get a frame of their own. */
enum tc_status tc_writer_add(struct tc_writer *writer, const char *lines, size_t size,
                             uint64_t now_ns, struct tc_error *err);
/*
 * The same in three parts, for lines that are made in their place: tick, then append whole lines to
 * what this returns, then tc_writer_added. What stands there already is not to be touched.
 */
struct tc_strbuf *tc_writer_lines(struct tc_writer *writer, uint64_t now_ns);
enum tc_status tc_writer_added(struct tc_writer *writer, uint64_t now_ns, struct tc_error *err);
/* Close the open frame if it is due at now_ns. */
enum tc_status tc_writer_tick(struct tc_writer *writer, uint64_t now_ns, struct tc_error *err);
/* Close the open frame now. */
enum tc_status tc_writer_flush(struct tc_writer *writer, struct tc_error *err);
/*
 * After TC_E_IO of any of these nothing is lost yet: what could not be written is kept, and each
 * further call tries again. Is that worth it? A disk that is full or fails may recover; a file that
 * was replaced or a limit of the process does not. Who gets this answers for how much piles up.
 */
bool tc_writer_may_recover(const struct tc_writer *writer);
/* What is in the file, whole frames only. */
uint64_t tc_writer_file_bytes(const struct tc_writer *writer);
uint64_t tc_writer_file_lines(const struct tc_writer *writer);
/* Its number within its file system: st_ino. */
uint64_t tc_writer_file_id(const struct tc_writer *writer);
/*
 * Flush and close; frees the writer whatever it returns. TC_E_IO also if the file was removed
 * meanwhile. NULL is fine.
 */
enum tc_status tc_writer_close(struct tc_writer *writer, struct tc_error *err);
/* After fork, in the child: forget lines and file without writing. */
void tc_writer_abandon(struct tc_writer *writer);

#endif /* TC_TRACE_WRITER_H */
