/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.c - the file system, or the functions that the process has given for what lies elsewhere
 */
#include "trace/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/vec.h"
#include <traincheck/remote.h>

static const struct tc_remote *remote; /* NULL: nobody reads what lies elsewhere */

void tc_trace_set_remote(const struct tc_remote *functions)
{
    remote = functions;
}

/* Letters, digits and "+-." before "://", as RFC 3986 has them. */
bool tc_bytes_is_remote(const char *path)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    const size_t n = strspn(path, letters);

    return n > 1 && strncmp(path + n, "://", 3) == 0;
}

static enum tc_status no_remote(const char *path, struct tc_error *err)
{
    return tc_error_set(err, TC_E_NOTFOUND,
                        "%s: paths with a scheme are read by the Python package alone: "
                        "libtraincheck.check(), infer(), read()",
                        path);
}

/* ---- folders -------------------------------------------------------------------------------- */

bool tc_bytes_is_dir(const char *path)
{
    if (!tc_bytes_is_remote(path))
        return tc_fs_is_dir(path);
    return remote && remote->list(remote->context, path, NULL, 0) >= 0;
}

bool tc_bytes_exists(const char *path)
{
    if (!tc_bytes_is_remote(path))
        return tc_fs_exists(path);
    return remote && remote->size(remote->context, path) >= 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void split_names(struct tc_strbuf *text, char ***names, size_t *n)
{
    TC_VEC(char *) found = {0};
    char *rest, *name = text->size ? strtok_r(text->text, "\n", &rest) : NULL;

    for (; name; name = strtok_r(NULL, "\n", &rest))
        tc_vec_push(&found, tc_strdup(name));
    if (found.n)
        qsort(found.items, found.n, sizeof(*found.items), compare_names);
    *names = found.items;
    *n = found.n;
}

enum tc_status tc_bytes_list(const char *dir, char ***names, size_t *n, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    int64_t size;

    if (!tc_bytes_is_remote(dir))
        return tc_fs_list(dir, names, n, err);
    if (!remote)
        return no_remote(dir, err);
    size = remote->list(remote->context, dir, NULL, 0);
    if (size > 0) {
        tc_strbuf_reserve(&text, (size_t)size + 1);
        const int64_t now = remote->list(remote->context, dir, text.text, (size_t)size);
        text.size = (size_t)(now < size ? (now < 0 ? 0 : now) : size);
        text.text[text.size] = '\0';
    }
    if (size < 0)
        return tc_error_set(err, TC_E_NOTFOUND, "%s: no such folder", dir);
    split_names(&text, names, n);
    tc_strbuf_release(&text);
    return TC_OK;
}

/* ---- files ---------------------------------------------------------------------------------- */

static enum tc_status io_error(const struct tc_bytes *b, struct tc_error *err)
{
    enum tc_status status = errno == ENOENT ? TC_E_NOTFOUND : TC_E_IO;

    return tc_error_set(err, status, "%s: %s", b->path, strerror(errno));
}

/* Opening a pipe would wait for its writer, hence O_NONBLOCK. */
enum tc_status tc_bytes_open(struct tc_bytes *bytes, const char *path, struct tc_error *err)
{
    struct stat st;

    bytes->path = path;
    bytes->fd = -1;
    bytes->is_remote = tc_bytes_is_remote(path);
    if (bytes->is_remote)
        return remote ? TC_OK : no_remote(path, err);
    bytes->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (bytes->fd < 0 || fstat(bytes->fd, &st) < 0)
        return io_error(bytes, err);
    if (!S_ISREG(st.st_mode))
        return tc_error_set(err, TC_E_FORMAT, "%s: not a trace: no regular file", path);
    return TC_OK;
}

void tc_bytes_close(struct tc_bytes *bytes)
{
    if (bytes->fd >= 0)
        close(bytes->fd);
    bytes->fd = -1;
}

bool tc_bytes_is_open(const struct tc_bytes *bytes)
{
    return bytes->is_remote || bytes->fd >= 0;
}

enum tc_status tc_bytes_size(const struct tc_bytes *bytes, uint64_t *size, struct tc_error *err)
{
    struct stat st;

    if (bytes->is_remote) {
        const int64_t n = remote->size(remote->context, bytes->path);
        *size = n < 0 ? 0 : (uint64_t)n;
        return n < 0 ? tc_error_set(err, TC_E_NOTFOUND, "%s: no such file", bytes->path) : TC_OK;
    }
    if (fstat(bytes->fd, &st) < 0)
        return io_error(bytes, err);
    *size = (uint64_t)st.st_size;
    return TC_OK;
}

enum tc_status tc_bytes_read(const struct tc_bytes *bytes, uint64_t at, void *data, size_t size,
                             size_t *got, struct tc_error *err)
{
    ssize_t n;

    *got = 0;
    if (bytes->is_remote) {
        const int64_t read = remote->read(remote->context, bytes->path, at, data, size);
        if (read < 0 || (uint64_t)read > size)
            return tc_error_set(err, TC_E_IO, "%s: cannot be read at byte %llu", bytes->path,
                                (unsigned long long)at);
        *got = (size_t)read;
        return TC_OK;
    }
    do
        n = pread(bytes->fd, data, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return io_error(bytes, err);
    *got = (size_t)n;
    return TC_OK;
}

uint64_t tc_bytes_behind_hole(const struct tc_bytes *bytes, uint64_t at, uint64_t size)
{
    off_t data;

    if (bytes->is_remote)
        return at;
    data = lseek(bytes->fd, (off_t)at, SEEK_DATA);
    if (data < 0 && errno != ENXIO) /* the file system does not know */
        return at;
    return data < 0 ? size : (uint64_t)data;
}
