/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.h - traces that other tools wrote, read as ours
 *
 * A format is implemented above this layer (src/import/) and named in the table below. It groups
 * the files of a folder by process and gives one tc_trace_file for each, whose records are made
 * of foreign lines; everything behind the reader sees records and no format.
 */
#ifndef TC_TRACE_FOREIGN_H
#define TC_TRACE_FOREIGN_H

#include <traincheck/trace.h>

struct tc_foreign_files {
    struct tc_trace_file **items; /* taken over by the folder; free the array with tc_free */
    size_t n;
};

struct tc_trace_format {
    const char *name; /* for people */
    /* Might a file of this name be one of the format? Content decides. */
    bool (*has_name)(const char *name);
    /*
     * Open those of paths that are of the format, as one run, and set taken[i] for each of them.
     * TC_OK also when none is. notes is borrowed and outlives the files.
     */
    enum tc_status (*open)(const char *const *paths, size_t n, struct tc_notes *notes, bool *taken,
                           struct tc_foreign_files *out, struct tc_error *err);
};

extern const struct tc_trace_format tc_python_tool_format;

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

#endif /* TC_TRACE_FOREIGN_H */
