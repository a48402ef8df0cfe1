/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - writing one trace file
 */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/vec.h"
#include "trace/zio.h"

/* Of the lines: growing, they are copied. Memory that nobody has written to costs nothing. */
#define FIRST_SIZE (2 * TC_FRAME_SIZE)

struct tc_writer {
    int fd; /* -1: closed by another hand, and gone */
    dev_t device;
    ino_t inode;
    char *path;
    struct tc_zio *zio;
    struct tc_strbuf lines;  /* the open frame, from begin on; more only while writing fails */
    struct tc_strbuf packed; /* a frame that is to be written */
    size_t begin;            /* of lines */
    uint64_t since_ns;       /* when the first of lines came */
    uint64_t packed_lines;   /* of packed; 0: it is in the file */
    uint64_t file_bytes, file_lines;
    bool is_passing; /* why the last write failed */
};

static bool is_file_of(const struct tc_writer *writer, const struct stat *info)
{
    return info->st_dev == writer->device && info->st_ino == writer->inode;
}

static bool has_own_fd(const struct tc_writer *writer)
{
    struct stat info;

    return writer->fd >= 0 && fstat(writer->fd, &info) == 0 && is_file_of(writer, &info);
}

/*
 * The process is the user's: a daemon closes every descriptor that it finds, and the number of ours
 * may stand for a file of the user's by now.
 */
static enum tc_status claim_fd(struct tc_writer *writer, struct tc_error *err)
{
    if (has_own_fd(writer))
        return TC_OK;
    writer->fd = tc_fs_move_away(open(writer->path, O_WRONLY | O_APPEND | O_CLOEXEC));
    if (writer->fd < 0)
        return tc_error_set(err, TC_E_IO, "%s: %s", writer->path, strerror(errno));
    if (has_own_fd(writer))
        return TC_OK;
    close(writer->fd);
    writer->fd = -1;
    return tc_error_set(err, TC_E_IO, "%s: replaced by another file", writer->path);
}

/* May the same write succeed later? */
static bool is_passing(int error)
{
    static const int passing[] = {ENOSPC, EDQUOT, EIO, EAGAIN, ENOMEM, ENOBUFS, ESTALE, ETIMEDOUT};

    for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
        if (passing[i] == error)
            return true;
    return false;
}

static bool close_fd(struct tc_writer *writer)
{
    return !has_own_fd(writer) || close(writer->fd) == 0;
}

enum tc_status tc_writer_open(const char *path, struct tc_writer **out, struct tc_error *err)
{
    /* O_APPEND: after a short write was cut off again, the next frame follows the last whole one.
     */
    int fd = tc_fs_move_away(open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640));
    struct tc_writer *writer;
    struct stat info;

    *out = NULL;
    if (fd < 0 || fstat(fd, &info) != 0)
        return tc_error_set(err, TC_E_IO, "%s: %s", path, strerror(errno));
    writer = tc_calloc(1, sizeof(*writer));
    writer->fd = fd;
    writer->device = info.st_dev;
    writer->inode = info.st_ino;
    writer->path = tc_strdup(path);
    writer->zio = tc_zio_new();
    tc_strbuf_reserve(&writer->lines, FIRST_SIZE);
    *out = writer;
    return TC_OK;
}

static size_t waiting(const struct tc_writer *writer)
{
    return writer->lines.size - writer->begin;
}

/* The file must end with a whole frame even if the disk is full. */
static enum tc_status write_packed(struct tc_writer *writer, struct tc_error *err)
{
    enum tc_status status = claim_fd(writer, err);

    if (status != TC_OK)
        return status;
    if (tc_fs_write_all(writer->fd, writer->packed.text, writer->packed.size) != TC_OK) {
        writer->is_passing = is_passing(errno);
        tc_error_set(err, TC_E_IO, "%s: %s", writer->path, strerror(errno));
        (void)!ftruncate(writer->fd, (off_t)writer->file_bytes);
        return TC_E_IO;
    }
    writer->file_bytes += writer->packed.size;
    writer->file_lines += writer->packed_lines;
    writer->packed_lines = 0;
    return TC_OK;
}

/* The most whole lines that fit into room bytes, at least one. */
static size_t fitting(const char *lines, size_t size, size_t room)
{
    const char *end;

    if (size <= room)
        return size;
    end = memrchr(lines, '\n', room);
    if (!end)
        end = memchr(lines, '\n', size);
    return end ? (size_t)(end - lines) + 1 : size;
}

static uint64_t count_lines(const char *text, size_t size)
{
    uint64_t n = 0;

    for (const char *end = text + size; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        n++;
    return n;
}

/* Of what waits, the next frame. */
static enum tc_status pack(struct tc_writer *writer, struct tc_error *err)
{
    const char *text = writer->lines.text + writer->begin;
    size_t n = fitting(text, waiting(writer), TC_FRAME_SIZE);
    enum tc_status status;

    tc_strbuf_reset(&writer->packed);
    status = tc_zio_pack(writer->zio, text, n, &writer->packed, err);
    if (status != TC_OK)
        tc_error_prefix(err, "%s", writer->path);
    else
        writer->packed_lines = count_lines(text, n);
    writer->begin += n;
    if (!waiting(writer)) {
        tc_strbuf_reset(&writer->lines);
        writer->begin = 0;
    }
    return status;
}

/* One frame reaches the file, or stays for another try. */
static enum tc_status flush_frame(struct tc_writer *writer, struct tc_error *err)
{
    enum tc_status status = writer->packed_lines ? TC_OK : pack(writer, err);

    writer->is_passing = false;
    return status == TC_OK ? write_packed(writer, err) : status;
}

enum tc_status tc_writer_flush(struct tc_writer *writer, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    while (status == TC_OK && (writer->packed_lines || waiting(writer)))
        status = flush_frame(writer, err);
    return status;
}

enum tc_status tc_writer_tick(struct tc_writer *writer, uint64_t now_ns, struct tc_error *err)
{
    bool is_due = waiting(writer) && now_ns - writer->since_ns >= TC_FRAME_AGE_NS;

    return is_due || writer->packed_lines ? tc_writer_flush(writer, err) : TC_OK;
}

struct tc_strbuf *tc_writer_lines(struct tc_writer *writer, uint64_t now_ns)
{
    if (!waiting(writer))
        writer->since_ns = now_ns;
    return &writer->lines;
}

/* A line that does not fit begins a frame of its own. */
enum tc_status tc_writer_added(struct tc_writer *writer, uint64_t now_ns, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    while (status == TC_OK && waiting(writer) >= TC_FRAME_SIZE) {
        status = flush_frame(writer, err);
        writer->since_ns = now_ns;
    }
    return status;
}

enum tc_status tc_writer_add(struct tc_writer *writer, const char *lines, size_t size,
                             uint64_t now_ns, struct tc_error *err)
{
    enum tc_status status = tc_writer_tick(writer, now_ns, err);

    tc_strbuf_add(tc_writer_lines(writer, now_ns), lines, size);
    return status == TC_OK ? tc_writer_added(writer, now_ns, err) : status;
}

bool tc_writer_may_recover(const struct tc_writer *writer)
{
    return writer->is_passing;
}

uint64_t tc_writer_file_lines(const struct tc_writer *writer)
{
    return writer->file_lines;
}

uint64_t tc_writer_file_bytes(const struct tc_writer *writer)
{
    return writer->file_bytes;
}

uint64_t tc_writer_file_id(const struct tc_writer *writer)
{
    return (uint64_t)writer->inode;
}

static void free_writer(struct tc_writer *writer)
{
    tc_zio_free(writer->zio);
    tc_strbuf_release(&writer->lines);
    tc_strbuf_release(&writer->packed);
    tc_free(writer->path);
    tc_free(writer);
}

static bool is_gone(const struct tc_writer *writer)
{
    struct stat info;

    if (stat(writer->path, &info) != 0)
        return errno == ENOENT;
    return !is_file_of(writer, &info);
}

enum tc_status tc_writer_close(struct tc_writer *writer, struct tc_error *err)
{
    enum tc_status status;

    if (!writer)
        return TC_OK;
    status = tc_writer_flush(writer, err);
    if (!close_fd(writer) && status == TC_OK)
        status = tc_error_set(err, TC_E_IO, "%s: %s", writer->path, strerror(errno));
    if (status == TC_OK && is_gone(writer))
        status = tc_error_set(err, TC_E_NOTFOUND, "%s: removed while it was written", writer->path);
    free_writer(writer);
    return status;
}

void tc_writer_abandon(struct tc_writer *writer)
{
    if (!writer)
        return;
    close_fd(writer);
    free_writer(writer);
}
