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

#endif /* TC_TRACE_FOREIGN_H */
