/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs.c - files and folders
 *
 * The caller bounds every read. Writing is in fs_write.c.
 */
#include "base/fs.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/vec.h"

#define READ_SIZE ((size_t)64 << 10)
#define MAX_ABOVE 5 /* folders above a shared library that may be the prefix */

enum tc_status tc_fs_fail(struct tc_error *err, const char *path)
{
    enum tc_status status = errno == ENOENT ? TC_E_NOTFOUND : TC_E_IO;

    return tc_error_set(err, status, "%s: %s", path, strerror(errno));
}

bool tc_fs_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool tc_fs_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

static enum tc_status make_dir(const char *path, mode_t mode, struct tc_error *err)
{
    int saved;

    if (mkdir(path, mode) == 0)
        return TC_OK;
    saved = errno;
    if (tc_fs_is_dir(path))
        return TC_OK;
    if (saved == EEXIST && !tc_fs_exists(path))
        return tc_error_set(err, TC_E_IO, "%s: a symbolic link that leads nowhere, not a folder",
                            path);
    return tc_error_set(err, TC_E_IO, "%s: cannot create folder: %s", path, strerror(saved));
}

static enum tc_status make_dirs(const char *path, mode_t mode, struct tc_error *err)
{
    char *copy = tc_strdup(path);
    enum tc_status status = TC_OK;

    for (char *p = copy; *p && status == TC_OK; p++) {
        if (*p != '/' || p == copy)
            continue;
        *p = '\0';
        status = make_dir(copy, mode, err);
        *p = '/';
    }
    if (status == TC_OK)
        status = make_dir(copy, mode, err);
    tc_free(copy);
    return status;
}

enum tc_status tc_fs_mkdirs(const char *path, struct tc_error *err)
{
    return make_dirs(path, 0777, err);
}

enum tc_status tc_fs_mkdirs_private(const char *path, struct tc_error *err)
{
    return make_dirs(path, 0750, err);
}

char *tc_fs_join(const char *dir, const char *name)
{
    size_t size = strlen(dir);
    struct tc_strbuf path = TC_STRBUF_INIT;

    tc_strbuf_add(&path, dir, size);
    if (size && dir[size - 1] != '/')
        tc_strbuf_addc(&path, '/');
    tc_strbuf_adds(&path, name);
    return tc_strbuf_take(&path);
}

const char *tc_fs_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *tc_fs_name(const char *path, size_t *size)
{
    size_t end = strlen(path), begin;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (begin = end; begin && path[begin - 1] != '/';)
        begin--;
    *size = end - begin;
    return path + begin;
}

/* The file that holds this code: a shared library, or the program itself. Returns how many folders
 * above its own may be the prefix, 0 if the file is not known. */
static int find_self(char path[PATH_MAX])
{
    struct link_map *map = NULL;
    Dl_info info;
    ssize_t n;

    if (dladdr1((const void *)(uintptr_t)&find_self, &info, (void **)&map, RTLD_DL_LINKMAP) &&
        map && map->l_name && *map->l_name) /* empty: the program */
        return realpath(map->l_name, path) ? MAX_ABOVE : 0;
    n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = '\0';
    return n >= 0;
}

/* Cut off the last part; false when none is left. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

char *tc_fs_installed(const char *name)
{
    char self[PATH_MAX], *first = NULL, *path = NULL;
    int n = find_self(self);
    bool is_there = false;

    if (!n || !go_up(self) || !go_up(self))
        return tc_fs_join(".", name);
    for (int i = 0; i < n && !is_there && (!i || go_up(self)); i++) {
        path = tc_fs_join(*self ? self : "/", name);
        is_there = tc_fs_exists(path);
        if (!first)
            first = path;
        else if (!is_there)
            tc_free(path);
    }
    if (!is_there || path == first)
        return first;
    tc_free(first);
    return path;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum tc_status tc_fs_list(const char *dir, char ***names, size_t *n, struct tc_error *err)
{
    TC_VEC(char *) list = {0};
    const struct dirent *entry;
    DIR *stream = opendir(dir);
    enum tc_status status = TC_OK;

    *names = NULL;
    *n = 0;
    if (!stream)
        return tc_fs_fail(err, dir);
    while (errno = 0, (entry = readdir(stream)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            tc_vec_push(&list, tc_strdup(entry->d_name));
    if (errno)
        status = tc_fs_fail(err, dir);
    closedir(stream);
    if (status != TC_OK) {
        tc_fs_list_free(list.items, list.n);
        return status;
    }
    if (list.n)
        qsort(list.items, list.n, sizeof(*list.items), compare_names);
    *names = list.items;
    *n = list.n;
    return TC_OK;
}

void tc_fs_list_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tc_free(names[i]);
    tc_free(names);
}

static enum tc_status too_large(struct tc_error *err, const char *path, size_t max)
{
    return tc_error_set(err, TC_E_FORMAT,
                        "%s: more than %zu MiB, which is the most that is read of such a file",
                        path, max >> 20);
}

static enum tc_status read_fd(int fd, const char *path, size_t max, struct tc_strbuf *out,
                              struct tc_error *err)
{
    size_t before = out->size;

    for (ssize_t got = 1; got;) {
        if (out->cap - out->size < 2)
            tc_strbuf_reserve(out, READ_SIZE);
        got = read(fd, out->text + out->size, out->cap - out->size - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tc_fs_fail(err, path);
        out->size += (size_t)got;
        if (out->size - before > max)
            return too_large(err, path, max);
    }
    return TC_OK;
}

enum tc_status tc_fs_read(const char *path, size_t max, struct tc_strbuf *out, struct tc_error *err)
{
    size_t before = out->size;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum tc_status status;
    struct stat st;

    if (fd < 0)
        return tc_fs_fail(err, path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        st.st_size = 0;
    if ((uint64_t)st.st_size > max) {
        status = too_large(err, path, max);
    } else {
        /* One byte more shows the end without a larger buffer. */
        tc_strbuf_reserve(out, (size_t)st.st_size + 1);
        status = read_fd(fd, path, max, out, err);
        if (status != TC_OK)
            out->size = before;
        out->text[out->size] = '\0';
    }
    close(fd);
    return status;
}

enum tc_status tc_fs_may_fill(const char *dir, struct tc_error *err)
{
    return access(dir, W_OK | X_OK) == 0 ? TC_OK : tc_fs_fail(err, dir);
}

int tc_fs_move_away(int fd)
{
    enum {
        LOWEST = 200
    };
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOWEST);

    if (high < 0)
        return fd;
    close(fd);
    return high;
}

enum tc_status tc_fs_lock(const char *path, int *fd, struct tc_error *err)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return tc_error_set(err, TC_E_IO, "%s: %s", path, strerror(errno));
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return TC_OK;
    close(*fd);
    *fd = -1;
    return tc_error_set(err, TC_E_IO, "%s: another checker is writing there", path);
}
