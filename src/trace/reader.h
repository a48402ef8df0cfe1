/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - files of a folder and of other tools, beyond what <traincheck/trace.h> opens
 */
#ifndef TC_TRACE_READER_H
#define TC_TRACE_READER_H

#include <traincheck/trace.h>

struct tc_zio;

/* As tc_trace_file_open_whole, or tc_trace_file_open. Frames are unpacked by zio, which is borrowed
 * and outlives the file; NULL: by one of the file's own. */
enum tc_status tc_trace_file_open_by(struct tc_zio *zio, const char *path, bool is_whole,
                                     struct tc_notes *notes, struct tc_trace_file **out,
                                     struct tc_error *err);

/* Are all of the first `size` bytes of the file records that were returned, or noted? */
bool tc_trace_file_has_all_of(const struct tc_trace_file *file, int64_t size);

/* How a foreign process is read; state belongs to the file. */
struct tc_foreign_ops {
    /* As tc_trace_file_next; every record has its `foreign`. */
    enum tc_status (*next)(void *state, const struct tc_record **out, struct tc_error *err);
    void (*close)(void *state);
    /* As tc_trace_file_is_waiting and tc_trace_file_park. */
    bool (*is_waiting)(const void *state);
    void (*park)(void *state);
    uint64_t (*bytes)(const void *state);
    uint64_t (*json_bytes)(const void *state);
};

/* path names the process in notes and reports; process must live as long as state. */
struct tc_trace_file *tc_trace_file_new_foreign(const char *path, const struct tc_foreign_ops *ops,
                                                void *state, const struct tc_record *process);

#endif /* TC_TRACE_READER_H */
