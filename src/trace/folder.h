/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - what folder.c and watch.c know of a folder; private to them
 */
#ifndef TC_TRACE_FOLDER_H
#define TC_TRACE_FOLDER_H

#include <traincheck/trace.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "trace/turns.h"

/* One file that is a trace. */
struct tc_trace_member {
    struct tc_trace_file *file;
    int64_t anchor_ns;  /* wall-clock time of t = 0; 0 where it is not known */
    int64_t time_ns;    /* of the last record, and not before that of the one before it */
    int64_t changed_ns; /* wall-clock time at which the file last grew; 0: nobody looked */
    struct tc_trace_progress progress;
    uint64_t json_bytes; /* of it, as counted in the folder's */
    bool has_failed;     /* the last turn: it is tried again, also where it has not grown */
};

/* A file of a watched folder that may yet become one. */
struct tc_trace_candidate {
    char *path;
    int64_t size; /* when it was looked at last; -1: never */
};

/* A file that is none of ours: of another tool, or no trace. */
struct tc_trace_other {
    char *path;
    char *why; /* it is none of ours; NULL where its name said so */
};

struct tc_trace_folder {
    struct tc_notes *notes;
    struct tc_zio *zio; /* of all files: a turn unpacks whole frames */
    TC_VEC(struct tc_trace_other) others;
    TC_VEC(struct tc_trace_member) members;
    TC_VEC(struct tc_trace_candidate) candidates;
    struct tc_turns waiting; /* members that are neither read now nor dry */
    TC_VEC(size_t) hot;      /* members that are not parked, the latest turn last */
    size_t turn;             /* the member being read, SIZE_MAX if none is */
    uint64_t json_bytes;     /* decoded so far */
    int64_t limit;           /* no turn for members beyond this step */
    char *rejected;          /* why the first file was no trace */
    char *watched;           /* path of a growing folder, else NULL */
    struct tc_strtab *known; /* names of its members and candidates */
};

/* trace_*.jsonl.zst, trace_*.jsonl */
bool tc_is_trace_name(const char *name);
/* A name that another tool gives its traces; content decides. */
bool tc_is_foreign_name(const char *name);
/* Keep a file for the formats of other tools. why: see struct tc_trace_other. */
void tc_trace_folder_add_other(struct tc_trace_folder *folder, const char *path, const char *why);
/* Open what other tools wrote among the others, as one run; the rest is noted. */
enum tc_status tc_trace_folder_add_foreign(struct tc_trace_folder *folder, struct tc_error *err);
/* Why there is nothing at path: no such file, or a folder above it that may not be searched. */
enum tc_status tc_trace_folder_missing(const char *path, struct tc_error *err);
void tc_trace_folder_add(struct tc_trace_folder *folder, struct tc_trace_file *take);
/* A member that is to have a turn again. */
void tc_trace_folder_wait(struct tc_trace_folder *folder, size_t member);

#endif /* TC_TRACE_FOLDER_H */
