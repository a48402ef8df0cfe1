/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs.h - files and folders; errors name the path and the system's reason
 */
#ifndef TC_BASE_FS_H
#define TC_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include <traincheck/error.h>

/* Sets the error of a call of the system that failed: the path and the reason in errno. */
enum tc_status tc_fs_fail(struct tc_error *err, const char *path);
bool tc_fs_is_dir(const char *path);
bool tc_fs_exists(const char *path);
/* Create the folder and its parents; fine if it is there. */
enum tc_status tc_fs_mkdirs(const char *path, struct tc_error *err);
/* The same, but what is created is for the owner and the group alone. */
enum tc_status tc_fs_mkdirs_private(const char *path, struct tc_error *err);
/* "dir/name"; the caller frees it. */
char *tc_fs_join(const char *dir, const char *name);
/* The part after the last slash (of a path without trailing slashes); points into path. */
const char *tc_fs_base(const char *path);
/* The same of a path that may end in slashes: *size bytes of it. */
const char *tc_fs_name(const char *path, size_t *size);
/*
 * A file or folder that is installed with this code, named as seen from the prefix: the folder
 * above that of the executable, or one of those above a shared library, which may lie as deep as
 * lib/python3.13/site-packages/libtraincheck. The same when built and when installed, wherever that
 * was moved. If there is none: where the executable would have it. The caller frees it.
 */
char *tc_fs_installed(const char *name);
/* Names in a folder in strcmp order, without . and ..; caller frees with tc_fs_list_free. */
enum tc_status tc_fs_list(const char *dir, char ***names, size_t *n, struct tc_error *err);
void tc_fs_list_free(char **names, size_t n);
/* Most bytes of a file that people write (options, names, ids), and of one that a tool writes and
 * reads at once. */
#define TC_FS_MAX_SMALL ((size_t)16 << 20)
#define TC_FS_MAX_LARGE ((size_t)256 << 20)
/*
 * Append a whole file to out; TC_E_NOTFOUND if there is none, TC_E_FORMAT if it has more than max
 * bytes, TC_E_IO otherwise (a folder too). A device or a FIFO may have no end: no more than twice
 * max is read.
 */
enum tc_status tc_fs_read(const char *path, size_t max, struct tc_strbuf *out,
                          struct tc_error *err);
/*
 * A file that is written bit by bit and is there when it is whole: without a name, or where the
 * file system has no such files under another one beside it, then by rename. Symbolic links are
 * followed, and a file that is replaced keeps its mode. What is no regular file (a device, a FIFO,
 * a descriptor as /dev/stdout or /dev/fd/3) is never replaced: it is written into, so that what
 * came before an error has arrived.
 */
struct tc_fs_writer {
    const char *path;        /* borrowed */
    struct tc_strbuf target; /* where the symbolic links lead */
    struct tc_strbuf temp;   /* its other name, empty while there is none */
    int fd;
    bool is_beside; /* else it is written into what is there */
    bool is_unnamed, is_replacing;
};

/* After an error there is nothing to close. */
enum tc_status tc_fs_writer_open(struct tc_fs_writer *writer, const char *path,
                                 struct tc_error *err);
enum tc_status tc_fs_writer_add(struct tc_fs_writer *writer, const void *data, size_t size,
                                struct tc_error *err);
/* Put it in place if status is TC_OK, else drop it; returns the status or what went wrong now. */
enum tc_status tc_fs_writer_close(struct tc_fs_writer *writer, enum tc_status status,
                                  struct tc_error *err);
/* Write all of it or nothing, as a struct tc_fs_writer does. */
enum tc_status tc_fs_write(const char *path, const void *data, size_t size, struct tc_error *err);
/* Could tc_fs_write() begin, and could it for files of a folder? Asked before work that takes long.
 */
enum tc_status tc_fs_may_write(const char *path, struct tc_error *err);
enum tc_status tc_fs_may_fill(const char *dir, struct tc_error *err);
/* Is it one of the caller's own, as /dev/stdout or /dev/fd/3? */
bool tc_fs_is_descriptor(const char *path);
/*
 * Keep others that lock the same folder or file away until *fd is closed; TC_E_IO names the path if
 * one holds it. Where the file system knows no locks *fd is valid and nobody is kept away.
 */
enum tc_status tc_fs_lock(const char *path, int *fd, struct tc_error *err);
/* write(2) until all is written, whatever interrupts it, also where fd does not block; TC_E_IO
 * leaves the reason in errno. */
enum tc_status tc_fs_write_all(int fd, const void *data, size_t size);
/*
 * The same open file under a high number, closed on exec, for files of ours in a process that is
 * the user's: programs show the numbers of what they open, and 0 to 2 may be free. Where the system
 * gives none, fd itself; -1 stays -1.
 */
int tc_fs_move_away(int fd);

#endif /* TC_BASE_FS_H */
