/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - the lines of a trace file; private to reader.c
 */
#ifndef TC_TRACE_LINES_H
#define TC_TRACE_LINES_H

#include <traincheck/trace.h>

struct tc_lines;
struct tc_zio;

/* name goes into notes; both are borrowed and outlive the lines. Errors as in tc_trace_file_open.
 */
enum tc_status tc_lines_open(const char *path, const char *name, struct tc_notes *notes,
                             struct tc_lines **out, struct tc_error *err);
/* As tc_frames_share. */
void tc_lines_share(struct tc_lines *lines, struct tc_zio *zio);
void tc_lines_close(struct tc_lines *lines);

/* The next line that is not blank, without its newline; valid until the next call. TC_END when no
 * whole line is left: called again it looks whether the file has grown. A line longer than a frame
 * may be is noted and skipped; TC_E_FORMAT if it is the first. */
enum tc_status tc_lines_next(struct tc_lines *lines, struct tc_str *out, struct tc_error *err);

/* Will the next line come without reading from the file? lines may be NULL. */
bool tc_lines_is_waiting(const struct tc_lines *lines);
/* Give back the file descriptor and all memory but that of an unfinished line; the next call opens
 * the file again. What was returned is no longer valid. lines may be NULL. */
void tc_lines_park(struct tc_lines *lines);

/* After TC_END: what stands behind the last newline; size 0 if nothing. Taken, it counts as a line.
 */
struct tc_str tc_lines_tail(const struct tc_lines *lines);
void tc_lines_take_tail(struct tc_lines *lines);
/* After TC_END: bytes of the tail and of an unfinished frame. */
size_t tc_lines_torn(const struct tc_lines *lines);

/* Are all of the first `size` bytes of the file lines that were returned? */
bool tc_lines_has_all_of(const struct tc_lines *lines, uint64_t size);

/* Of the line returned last, from 1. Lines in damaged frames cannot be counted. */
uint64_t tc_lines_number(const struct tc_lines *lines);
uint64_t tc_lines_file_bytes(const struct tc_lines *lines);
uint64_t tc_lines_json_bytes(const struct tc_lines *lines);

#endif /* TC_TRACE_LINES_H */
