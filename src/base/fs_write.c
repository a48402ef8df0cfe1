/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs_write.c - files that are written whole or not at all
 *
 * A writer writes into a file without a name and gives it the target's name once it is whole, so a
 * killed process leaves the old file. A file system without such files (NFS) gets a named one
 * beside the target, which is renamed. Symbolic links are followed. Devices, FIFOs and descriptors
 * are written into and stay what they are.
 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TEMP     100 /* names tried for a temporary file */
#define MAX_LINKS    40  /* as the kernel follows */
#define FD_NAME_SIZE 32  /* /proc/self/fd/N */

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
    status = tc_fs_fail(err, path);
    tc_strbuf_release(&writer->target);
    tc_strbuf_release(&writer->temp);
    return status;
}

enum tc_status tc_fs_writer_add(struct tc_fs_writer *writer, const void *data, size_t size,
                                struct tc_error *err)
{
    if (tc_fs_write_all(writer->fd, data, size) != TC_OK)
        return tc_fs_fail(err, writer->path);
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
        status = tc_fs_fail(err, writer->path);
    if (writer->is_unnamed && status == TC_OK && !give_name(writer))
        status = tc_fs_fail(err, writer->path);
    if (close(writer->fd) < 0 && status == TC_OK)
        status = tc_fs_fail(err, writer->path);
    if (writer->temp.size && status == TC_OK && rename(writer->temp.text, writer->target.text) < 0)
        status = tc_fs_fail(err, writer->path);
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
        status = tc_fs_fail(err, path);
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
