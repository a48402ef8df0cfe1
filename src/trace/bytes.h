/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - the bytes of a trace file, on a disk or elsewhere (traincheck/remote.h)
 *
 * A path with a scheme, "s3://bucket/run", is remote; all others are the file system's.
 */
#ifndef TC_TRACE_BYTES_H
#define TC_TRACE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>

struct tc_bytes {
    const char *path; /* borrowed */
    bool is_remote;
    int fd; /* -1: closed, or remote */
};

bool tc_bytes_is_remote(const char *path);
/* Is there a folder, or anything, with that path? */
bool tc_bytes_is_dir(const char *path);
bool tc_bytes_exists(const char *path);
/* As tc_fs_list. */
enum tc_status tc_bytes_list(const char *dir, char ***names, size_t *n, struct tc_error *err);

/* TC_E_FORMAT if it is no regular file. What is open may be opened and closed again. */
enum tc_status tc_bytes_open(struct tc_bytes *bytes, const char *path, struct tc_error *err);
void tc_bytes_close(struct tc_bytes *bytes);
bool tc_bytes_is_open(const struct tc_bytes *bytes);
enum tc_status tc_bytes_size(const struct tc_bytes *bytes, uint64_t *size, struct tc_error *err);
/* Up to size bytes from `at` on; *got is 0 at the end of the file. */
enum tc_status tc_bytes_read(const struct tc_bytes *bytes, uint64_t at, void *data, size_t size,
                             size_t *got, struct tc_error *err);
/* Where the hole ends that begins at `at`; `at` where none does, or nobody knows. size: of the
 * file. */
uint64_t tc_bytes_behind_hole(const struct tc_bytes *bytes, uint64_t at, uint64_t size);

#endif /* TC_TRACE_BYTES_H */
