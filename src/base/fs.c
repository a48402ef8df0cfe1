/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs.c - files and folders
 *
 * The caller bounds every read. A writer writes into a file without a name and gives it the
 * target's name once it is whole, so a killed process leaves the old file. A file system without
 * such files (NFS) gets a named one beside the target, which is renamed. Symbolic links are
 * followed. Devices, FIFOs and descriptors are written into and stay what they are.
 */
#include "base/fs.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/vec.h"

#define READ_SIZE    ((size_t)64 << 10)
#define MAX_TEMP     100 /* names tried for a temporary file */
#define MAX_LINKS    40  /* as the kernel follows */
#define FD_NAME_SIZE 32  /* /proc/self/fd/N */
#define MAX_ABOVE    5   /* folders above a shared library that may be the prefix */

static enum tc_status io_error(struct tc_error *err, const char *path)
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
        return io_error(err, dir);
    while (errno = 0, (entry = readdir(stream)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            tc_vec_push(&list, tc_strdup(entry->d_name));
    if (errno)
        status = io_error(err, dir);
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
            return io_error(err, path);
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
        return io_error(err, path);
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

/* Another program made the pipe or terminal that we share with it one that does not block. */
static bool wait_for_room(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};

    return poll(&wanted, 1, -1) > 0 || errno == EINTR;
}

enum tc_status tc_fs_write_all(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size) {
        ssize_t n = write(fd, p, size);

        if (n < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_room(fd))))
            continue;
        if (n < 0)
            return TC_E_IO;
        p += n;
        size -= (size_t)n;
    }
    return TC_OK;
}

/* The i-th name beside the target. */
static const char *name_temp(struct tc_fs_writer *writer, unsigned i)
{
    tc_strbuf_reset(&writer->temp);
    tc_strbuf_addf(&writer->temp, "%s.%ld-%u.tmp", writer->target.text, (long)getpid(), i);
    return writer->temp.text;
}

/* A file beside the target that nobody else has. */
static int open_named(struct tc_fs_writer *writer)
{
    int fd = -1;

    for (unsigned i = 0; i < MAX_TEMP && fd < 0; i++) {
        fd = open(name_temp(writer, i), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

static const char *name_fd(char name[FD_NAME_SIZE], int fd)
{
    snprintf(name, FD_NAME_SIZE, "/proc/self/fd/%d", fd);
    return name;
}

static struct tc_strbuf folder_of(const char *path)
{
    const size_t size = (size_t)(tc_fs_base(path) - path);
    struct tc_strbuf folder = TC_STRBUF_INIT;

    if (size)
        tc_strbuf_add(&folder, path, size);
    else
        tc_strbuf_adds(&folder, ".");
    return folder;
}

/* A file without a name is gone with its process, whatever ends that. Not all file systems have
 * them: NFS has none. */
static int open_unnamed(const struct tc_fs_writer *writer)
{
    struct tc_strbuf folder = folder_of(writer->target.text);
    int fd = open(folder.text, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
    char name[FD_NAME_SIZE];

    if (fd >= 0 && access(name_fd(name, fd), F_OK) != 0) { /* it gets its name through that */
        close(fd);
        fd = -1;
    }
    tc_strbuf_release(&folder);
    return fd;
}

static int open_beside(struct tc_fs_writer *writer)
{
    int fd = open_unnamed(writer);

    writer->is_unnamed = fd >= 0;
    return fd >= 0 ? fd : open_named(writer);
}

/* The number of an open file that the path stands for, or -1. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};

    if (!strcmp(path, "/dev/stdout"))
        return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stderr"))
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        size_t size = strlen(folders[i]);
        char *end;
        if (strncmp(path, folders[i], size) != 0 || path[size] < '0' || path[size] > '9')
            continue;
        long number = strtol(path + size, &end, 10);
        return *end || number > INT_MAX ? -1 : (int)number;
    }
    return -1;
}

/* One symbolic link further; false: path is none. */
static bool follow_link(struct tc_strbuf *path)
{
    char link[PATH_MAX];
    ssize_t n = readlink(path->text, link, sizeof(link) - 1);
    const char *slash;

    if (n < 0)
        return false;
    link[n] = '\0';
    slash = strrchr(path->text, '/');
    if (link[0] == '/' || !slash)
        tc_strbuf_reset(path);
    else
        path->size = (size_t)(slash + 1 - path->text);
    tc_strbuf_adds(path, link);
    return true;
}

/* The end of all symbolic links, also where no file is yet; a descriptor's number if it is one. */
static int resolve(struct tc_strbuf *path)
{
    int descriptor = descriptor_of(path->text);

    for (unsigned i = 0; i < MAX_LINKS && descriptor < 0 && follow_link(path); i++)
        descriptor = descriptor_of(path->text);
    return descriptor;
}

/* A loop of links or a folder ends in the error of open(). */
static int open_target(struct tc_fs_writer *writer)
{
    struct stat st;
    int descriptor = resolve(&writer->target);

    if (descriptor >= 0)
        return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    writer->is_replacing = stat(writer->target.text, &st) == 0;
    if (writer->is_replacing && !S_ISREG(st.st_mode))
        return open(writer->target.text, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (!writer->is_replacing && errno != ENOENT)
        return -1;
    writer->is_beside = true;
    int fd = open_beside(writer);
    if (fd >= 0 && writer->is_replacing && fchmod(fd, st.st_mode & 07777) < 0)
        errno = 0; /* not ours to set: the new file has the usual mode */
    return fd;
}

enum tc_status tc_fs_writer_open(struct tc_fs_writer *writer, const char *path,
                                 struct tc_error *err)
{
    enum tc_status status;

    *writer = (struct tc_fs_writer){.path = path};
    tc_strbuf_adds(&writer->target, path);
    writer->fd = open_target(writer);
    if (writer->fd >= 0)
        return TC_OK;
    status = io_error(err, path);
    tc_strbuf_release(&writer->target);
    tc_strbuf_release(&writer->temp);
    return status;
}

enum tc_status tc_fs_writer_add(struct tc_fs_writer *writer, const void *data, size_t size,
                                struct tc_error *err)
{
    if (tc_fs_write_all(writer->fd, data, size) != TC_OK)
        return io_error(err, writer->path);
    return TC_OK;
}

/* Some file systems tell only now that there was no room: before the good old file is gone. */
static bool is_on_disk(const struct tc_fs_writer *writer)
{
    return !writer->is_replacing || fsync(writer->fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/* Where a file cannot get a name: all of it into one that has. */
static bool copy_to_named(struct tc_fs_writer *writer)
{
    int fd = open_named(writer);
    struct stat info;
    off_t at = 0;
    ssize_t n = 1;

    if (fd < 0 || fstat(writer->fd, &info) < 0)
        return false;
    while (at < info.st_size && n > 0)
        n = sendfile(fd, writer->fd, &at, (size_t)(info.st_size - at));
    (void)!fchmod(fd, info.st_mode & 07777);
    close(writer->fd);
    writer->fd = fd;
    return at == info.st_size && is_on_disk(writer);
}

static bool link_to(const struct tc_fs_writer *writer, const char *path)
{
    char name[FD_NAME_SIZE];

    return linkat(AT_FDCWD, name_fd(name, writer->fd), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* The target's own if that is free. */
static bool give_name(struct tc_fs_writer *writer)
{
    if (!writer->is_replacing && link_to(writer, writer->target.text))
        return true;
    for (unsigned i = 0; i < MAX_TEMP; i++) {
        if (link_to(writer, name_temp(writer, i)))
            return true;
        if (errno != EEXIST)
            break;
    }
    tc_strbuf_reset(&writer->temp);
    return copy_to_named(writer);
}

enum tc_status tc_fs_writer_close(struct tc_fs_writer *writer, enum tc_status status,
                                  struct tc_error *err)
{
    if (writer->is_beside && status == TC_OK && !is_on_disk(writer))
        status = io_error(err, writer->path);
    if (writer->is_unnamed && status == TC_OK && !give_name(writer))
        status = io_error(err, writer->path);
    if (close(writer->fd) < 0 && status == TC_OK)
        status = io_error(err, writer->path);
    if (writer->temp.size && status == TC_OK && rename(writer->temp.text, writer->target.text) < 0)
        status = io_error(err, writer->path);
    if (writer->temp.size && status != TC_OK)
        unlink(writer->temp.text);
    tc_strbuf_release(&writer->target);
    tc_strbuf_release(&writer->temp);
    return status;
}

enum tc_status tc_fs_write(const char *path, const void *data, size_t size, struct tc_error *err)
{
    struct tc_fs_writer writer;
    enum tc_status status = tc_fs_writer_open(&writer, path, err);

    if (status != TC_OK)
        return status;
    return tc_fs_writer_close(&writer, tc_fs_writer_add(&writer, data, size, err), err);
}

enum tc_status tc_fs_may_fill(const char *dir, struct tc_error *err)
{
    return access(dir, W_OK | X_OK) == 0 ? TC_OK : io_error(err, dir);
}

static bool may_make(const char *path)
{
    struct tc_strbuf folder = folder_of(path);
    bool may = access(folder.text, W_OK | X_OK) == 0;

    tc_strbuf_release(&folder);
    return may;
}

/* What is replaced need not be writable, its folder has to. */
static bool may_write(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno == ENOENT && may_make(path);
    if (S_ISREG(st.st_mode))
        return may_make(path);
    if (!S_ISDIR(st.st_mode))
        return access(path, W_OK) == 0;
    errno = EISDIR;
    return false;
}

enum tc_status tc_fs_may_write(const char *path, struct tc_error *err)
{
    struct tc_strbuf target = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;

    tc_strbuf_adds(&target, path);
    if (resolve(&target) < 0 && !may_write(target.text))
        status = io_error(err, path);
    tc_strbuf_release(&target);
    return status;
}

bool tc_fs_is_descriptor(const char *path)
{
    struct tc_strbuf target = TC_STRBUF_INIT;

    tc_strbuf_adds(&target, path);
    const bool is_descriptor = resolve(&target) >= 0;
    tc_strbuf_release(&target);
    return is_descriptor;
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
