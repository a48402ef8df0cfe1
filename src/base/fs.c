/*
 * fs.c - files and folders
 */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/vec.h"

#include "base/banned.h"

#define READ_SIZE ((size_t)64 << 10)
#define MAX_TEMP  100 /* names tried for a temporary file */

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

static enum tc_status make_dir(const char *path, struct tc_error *err)
{
    int saved;

    if (mkdir(path, 0777) == 0)
        return TC_OK;
    saved = errno;
    if (tc_fs_is_dir(path))
        return TC_OK;
    return tc_error_set(err, TC_E_IO, "%s: cannot create folder: %s", path, strerror(saved));
}

enum tc_status tc_fs_mkdirs(const char *path, struct tc_error *err)
{
    char *copy = tc_strdup(path);
    enum tc_status status = TC_OK;

    for (char *p = copy; *p && status == TC_OK; p++) {
        if (*p != '/' || p == copy)
            continue;
        *p = '\0';
        status = make_dir(copy, err);
        *p = '/';
    }
    if (status == TC_OK)
        status = make_dir(copy, err);
    tc_free(copy);
    return status;
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

char *tc_fs_installed(const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n < 0)
        return tc_fs_join(".", name);
    for (int up = 0; up < 2; up++) {
        self[n] = '\0';
        slash = strrchr(self, '/');
        n = slash ? slash - self : n;
    }
    self[n] = '\0';
    return tc_fs_join(self, name);
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

enum tc_status tc_fs_read(const char *path, struct tc_strbuf *out, struct tc_error *err)
{
    size_t before = out->size;
    enum tc_status status = TC_OK;
    ssize_t got = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return io_error(err, path);
    while (got) {
        tc_strbuf_reserve(out, READ_SIZE);
        got = read(fd, out->text + out->size, READ_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            out->size = before;
            status = io_error(err, path);
            break;
        }
        out->size += (size_t)got;
    }
    out->text[out->size] = '\0';
    close(fd);
    return status;
}

enum tc_status tc_fs_write_all(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size) {
        ssize_t n = write(fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return TC_E_IO;
        p += n;
        size -= (size_t)n;
    }
    return TC_OK;
}

/* A file beside path that nobody else has; its name goes to temp. */
static int open_temp(const char *path, struct tc_strbuf *temp)
{
    int fd = -1;

    for (unsigned i = 0; i < MAX_TEMP && fd < 0; i++) {
        tc_strbuf_reset(temp);
        tc_strbuf_addf(temp, "%s.%ld-%u.tmp", path, (long)getpid(), i);
        fd = open(temp->text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

enum tc_status tc_fs_writer_open(struct tc_fs_writer *writer, const char *path,
                                 struct tc_error *err)
{
    *writer = (struct tc_fs_writer){.path = path};
    writer->fd = open_temp(path, &writer->temp);
    if (writer->fd >= 0)
        return TC_OK;
    tc_strbuf_release(&writer->temp);
    return io_error(err, path);
}

enum tc_status tc_fs_writer_add(struct tc_fs_writer *writer, const void *data, size_t size,
                                struct tc_error *err)
{
    if (tc_fs_write_all(writer->fd, data, size) != TC_OK)
        return io_error(err, writer->path);
    return TC_OK;
}

enum tc_status tc_fs_writer_close(struct tc_fs_writer *writer, enum tc_status status,
                                  struct tc_error *err)
{
    if (close(writer->fd) < 0 && status == TC_OK)
        status = io_error(err, writer->path);
    if (status == TC_OK && rename(writer->temp.text, writer->path) < 0)
        status = io_error(err, writer->path);
    if (status != TC_OK)
        unlink(writer->temp.text);
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
