/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.h - traces that lie elsewhere than in the file system
 */
#ifndef TRAINCHECK_REMOTE_H
#define TRAINCHECK_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include <traincheck/export.h>

/*
 * Paths with a scheme ("s3://bucket/run") are asked of these functions, by several threads at a
 * time. Files are read in pieces, forwards but for a few bytes, and are taken to be finished.
 */
struct tc_remote {
    /* Names of what is in the folder, a newline behind each: up to size bytes of them into names,
     * which may be NULL with size 0. Returns the length of all; -1: there is no such folder. */
    int64_t (*list)(void *context, const char *path, char *names, size_t size);
    int64_t (*size)(void *context, const char *path); /* bytes; -1: there is no such file */
    /* Up to size bytes from `at` on; returns how many, 0 at the end, -1 where it fails. */
    int64_t (*read)(void *context, const char *path, uint64_t at, void *data, size_t size);
    void *context;
};

/* Borrowed, and in force until the next call; NULL: such paths are refused. Set it before traces
 * are opened. */
TC_API void tc_trace_set_remote(const struct tc_remote *functions);

#endif /* TRAINCHECK_REMOTE_H */
