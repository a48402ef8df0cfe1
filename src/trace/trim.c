/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trim.c - regions of dropped frames, each of which begins with a frame that stands for them
 *
 * A region grows at its end, and its first frame is written anew each time. Frames that stay end
 * it, and another begins behind them. What is in the file is whole after each write: first the
 * frames that are to be skipped are, then the hole is made.
 */
#include "trace/trim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/vec.h"
#include "trace/remains.h"
#include "trace/scan.h"
#include "trace/zio.h"

#define READ_SIZE ((size_t)256 << 10)
#define MAX_SKIP  (UINT64_C(1) << 30) /* bytes of one skippable frame */

struct line {
    struct tc_str text;
    struct tc_record record;
};

struct tc_trim {
    char *path;
    uint64_t head;           /* most bytes of the first steps */
    bool has_head;           /* what stays for them is known */
    uint64_t begin, end;     /* the region; begin == end: it is empty */
    uint64_t given, written; /* of it, bytes that are a hole; where it ended when it was written */
    int64_t step;            /* the last seen */
    struct tc_remains *remains;
    struct tc_zio *zio;
    struct tc_arena arena; /* of the records of a frame */
    struct tc_strbuf raw, text;
    TC_VEC(struct line) lines;
    int fd; /* -1 between orders */
};

static enum tc_status io_error(const struct tc_trim *t, struct tc_error *err)
{
    return tc_error_set(err, TC_E_IO, "%s: %s", t->path, strerror(errno));
}

static bool punch(int fd, uint64_t from, uint64_t size)
{
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)size) == 0;
}

static enum tc_status open_file(struct tc_trim *t, struct tc_error *err)
{
    t->fd = tc_fs_move_away(open(t->path, O_RDWR | O_CLOEXEC));
    return t->fd < 0 ? io_error(t, err) : TC_OK;
}

static void close_file(struct tc_trim *t)
{
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

/* Behind the end of a file nothing changes. */
static enum tc_status try_to_punch(struct tc_trim *t, struct tc_error *err)
{
    struct stat st;

    if (fstat(t->fd, &st) < 0)
        return io_error(t, err);
    if (!punch(t->fd, (uint64_t)st.st_size + (UINT64_C(1) << 20), 4096))
        return tc_error_set(err, TC_E_IO,
                            "%s: this file system cannot give back a part of a file: %s", t->path,
                            strerror(errno));
    return TC_OK;
}

enum tc_status tc_trim_open(const char *path, uint64_t head, struct tc_trim **out,
                            struct tc_error *err)
{
    struct tc_trim *t = tc_calloc(1, sizeof(*t));
    enum tc_status status;

    t->path = tc_strdup(path);
    t->head = head;
    t->zio = tc_zio_new();
    t->remains = tc_remains_new();
    status = open_file(t, err);
    if (!status)
        status = try_to_punch(t, err);
    close_file(t);
    *out = status ? NULL : t;
    if (status)
        tc_trim_close(t);
    return status;
}

void tc_trim_close(struct tc_trim *trim)
{
    if (!trim)
        return;
    close_file(trim);
    tc_remains_free(trim->remains);
    tc_zio_free(trim->zio);
    tc_arena_release(&trim->arena);
    tc_strbuf_release(&trim->raw);
    tc_strbuf_release(&trim->text);
    tc_vec_release(&trim->lines);
    tc_free(trim->path);
    tc_free(trim);
}

bool tc_trim_is_marks(const char *name)
{
    const size_t n = strlen(name), begin = strlen(TC_TRIM_MARKS_BEGIN),
                 end = strlen(TC_TRIM_MARKS_END);

    return n >= begin + end && !strncmp(name, TC_TRIM_MARKS_BEGIN, begin) &&
           !strcmp(name + n - end, TC_TRIM_MARKS_END);
}

bool tc_trim_is_near(const int64_t *steps, size_t n, int64_t first, int64_t last)
{
    for (size_t i = 0; i < n; i++)
        if (last >= steps[i] - TC_TRIM_AROUND && first <= steps[i] + TC_TRIM_AROUND)
            return true;
    return false;
}

/* ---- the frame behind the region --------------------------------------------------------------
 */

struct frame {
    uint64_t size;
    int64_t first_step, last_step;
    bool is_skippable;
};

/* More of the frame into raw; TC_END at the end of the file. */
static enum tc_status read_more(struct tc_trim *t, struct tc_error *err)
{
    const size_t want = t->raw.size > READ_SIZE ? t->raw.size : READ_SIZE;
    ssize_t n;

    tc_strbuf_reserve(&t->raw, want);
    do
        n = pread(t->fd, t->raw.text + t->raw.size, want, (off_t)(t->end + t->raw.size));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return io_error(t, err);
    t->raw.size += (size_t)n;
    return n ? TC_OK : TC_END;
}

static void scan_lines(struct tc_trim *t, struct frame *frame)
{
    const char *at = t->text.text, *end = at + t->text.size, *stop;
    struct line line;

    t->lines.n = 0;
    tc_arena_reset(&t->arena);
    frame->first_step = frame->last_step = t->step;
    for (bool is_first = true; at < end && (stop = memchr(at, '\n', (size_t)(end - at)));
         at = stop + 1) {
        line.text = (struct tc_str){at, (uint32_t)(stop - at)};
        if (tc_record_parse(at, line.text.size, &t->arena, &line.record, NULL))
            continue; /* readers say so of a line that is kept, and it is not */
        if (line.record.step != TC_NONE) {
            frame->first_step = is_first ? line.record.step : frame->first_step;
            frame->last_step = line.record.step;
            is_first = false;
        }
        tc_vec_push(&t->lines, line);
    }
    t->step = frame->last_step;
}

/* The frame at the end of the region, its records in lines. TC_END: there is no whole one;
 * TC_E_FORMAT: it is damaged. */
static enum tc_status read_frame(struct tc_trim *t, struct frame *frame, struct tc_error *err)
{
    enum tc_status status = TC_OK, more;
    size_t used = 0;

    tc_strbuf_reset(&t->raw);
    do {
        if ((more = read_more(t, err)) != TC_OK)
            return more;
        tc_strbuf_reset(&t->text);
        frame->is_skippable = tc_zio_is_skippable(t->raw.text, t->raw.size, &frame->size);
        if (frame->is_skippable)
            return TC_OK;
        status = tc_zio_unpack(t->zio, t->raw.text, t->raw.size, &t->text, &used, err);
    } while (status == TC_END);
    frame->size = used;
    if (!status)
        scan_lines(t, frame);
    return status;
}

/* ---- regions ----------------------------------------------------------------------------------
 */

static void begin_region(struct tc_trim *t)
{
    t->begin = t->end;
    t->given = 0;
    tc_remains_free(t->remains);
    t->remains = tc_remains_new();
}

static enum tc_status put(struct tc_trim *t, const void *data, size_t size, uint64_t at,
                          struct tc_error *err)
{
    const ssize_t n = pwrite(t->fd, data, size, (off_t)at);

    if (n < 0)
        return io_error(t, err);
    return (size_t)n == size ? TC_OK : tc_error_set(err, TC_E_IO, "%s: short write", t->path);
}

/* The rest of the region from `at` on is skipped: its last part first, and the frame that stands
 * for all before the first part, in one write. */
static enum tc_status write_skips(struct tc_trim *t, struct tc_strbuf *front, struct tc_error *err)
{
    const uint64_t at = t->begin + front->size;
    uint64_t size = t->end - at;
    enum tc_status status = TC_OK;

    while (size > MAX_SKIP + TC_ZIO_SKIPPABLE_HEADER && !status) {
        struct tc_strbuf header = TC_STRBUF_INIT;
        const uint64_t from = at + size - MAX_SKIP;
        tc_zio_pack_skippable(MAX_SKIP, &header);
        status = put(t, header.text, header.size, from, err);
        size -= MAX_SKIP;
        tc_strbuf_release(&header);
    }
    tc_zio_pack_skippable(size, front);
    return status ? status : put(t, front->text, front->size, t->begin, err);
}

/* All of the region from there on, which is behind the first header, but the other headers. */
static enum tc_status make_hole(struct tc_trim *t, uint64_t from, struct tc_error *err)
{
    uint64_t end = t->end;

    while (end - from > MAX_SKIP) {
        const uint64_t part = end - MAX_SKIP;
        if (!punch(t->fd, part + TC_ZIO_SKIPPABLE_HEADER, MAX_SKIP - TC_ZIO_SKIPPABLE_HEADER))
            return io_error(t, err);
        end = part;
    }
    return punch(t->fd, from, end - from) ? TC_OK : io_error(t, err);
}

static void count_freed(struct tc_trim *t, uint64_t front, uint64_t *freed)
{
    const uint64_t hole = t->end - t->begin - front;

    *freed += hole > t->given ? hole - t->given : 0;
    t->given = hole;
    t->written = t->end;
}

/* A region that is smaller than what stands for it stays as it was, until it has grown. */
static enum tc_status write_region(struct tc_trim *t, uint64_t *freed, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT, front = TC_STRBUF_INIT;
    enum tc_status status;

    if (t->begin == t->end || t->written == t->end)
        return TC_OK;
    tc_remains_print(t->remains, &text);
    status = tc_zio_pack(t->zio, text.text, text.size, &front, err);
    if (!status && t->end - t->begin > front.size + TC_ZIO_SKIPPABLE_HEADER) {
        status = write_skips(t, &front, err);
        if (!status)
            status = make_hole(t, t->begin + front.size, err);
        if (!status)
            count_freed(t, front.size, freed);
    }
    tc_strbuf_release(&text);
    tc_strbuf_release(&front);
    return status;
}

/* ---- an order ---------------------------------------------------------------------------------
 */

/* The first frame says whose the file is. */
static bool is_head(struct tc_trim *t, const struct frame *frame)
{
    const bool is_first = t->end == 0;
    const bool has_steps = frame->first_step != TC_NONE && frame->first_step >= TC_TRIM_HEAD_STEPS;

    if (!is_first && (has_steps || t->end + frame->size > t->head || frame->is_skippable))
        t->has_head = true;
    return !t->has_head;
}

static void take_frame(struct tc_trim *t, const struct frame *frame)
{
    for (size_t i = 0; i < t->lines.n && !frame->is_skippable; i++)
        tc_remains_add(t->remains, &t->lines.items[i].record, t->lines.items[i].text);
    t->end += frame->size;
}

/* Behind a frame that stays. */
static enum tc_status pass(struct tc_trim *t, const struct frame *frame, uint64_t *freed,
                           struct tc_error *err)
{
    const enum tc_status status = write_region(t, freed, err);

    t->end += frame->size;
    begin_region(t);
    return status;
}

static enum tc_status run(struct tc_trim *t, const struct tc_trim_order *order, uint64_t *freed,
                          struct tc_error *err)
{
    const int64_t step = t->step;
    enum tc_status status = TC_OK;
    struct frame frame;
    bool ends = false;

    while (!status && *freed + (t->end - t->begin) - t->given < order->bytes) {
        frame = (struct frame){.first_step = step, .last_step = step};
        status = read_frame(t, &frame, err);
        if (status || t->end + frame.size > order->until)
            break;
        if (is_head(t, &frame)) {
            status = pass(t, &frame, freed, err);
        } else if (!frame.is_skippable &&
                   order->keeps(order->context, frame.first_step, frame.last_step, &ends)) {
            if (ends)
                break;
            status = pass(t, &frame, freed, err);
        } else {
            take_frame(t, &frame);
        }
    }
    return status == TC_END || status == TC_E_FORMAT ? TC_OK : status;
}

enum tc_status tc_trim_run(struct tc_trim *trim, const struct tc_trim_order *order, uint64_t *freed,
                           struct tc_error *err)
{
    enum tc_status status = open_file(trim, err);

    *freed = 0;
    if (!status)
        status = run(trim, order, freed, err);
    if (!status)
        status = write_region(trim, freed, err);
    close_file(trim);
    return status;
}
