/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.c - the lines of a trace file
 *
 * Frames hold whole lines, but those of other tools may not: what follows the
 * last newline waits for the next frame.
 *
 * While a file is parked the lines that wait are packed: of a job of thousands of ranks the rest of
 * the first frame of each would be most of the memory.
 */
#include "trace/lines.h"

#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "trace/zstd_frames.h"

#define MAX_LINE TC_ZIO_MAX_FRAME /* bytes; a file without newlines must not fill memory */

struct tc_lines {
    struct tc_frames *frames;
    struct tc_notes *notes;
    const char *name;
    struct tc_strbuf text; /* decoded and not yet returned, from pos on */
    size_t pos;
    size_t searched;         /* no newline in [pos, searched) */
    size_t end;              /* behind the last newline; 0 if there is none */
    struct tc_strbuf packed; /* the text while it is parked; empty: it is there */
    uint64_t number;
    uint64_t json_bytes;
    bool is_skipping;   /* inside a line that is too long */
    bool is_tail_taken; /* the newline of the line returned last may yet come */
};

enum tc_status tc_lines_open(const char *path, const char *name, struct tc_notes *notes,
                             struct tc_lines **out, struct tc_error *err)
{
    struct tc_frames *frames;
    enum tc_status status = tc_frames_open(path, name, notes, &frames, err);

    *out = NULL;
    if (status != TC_OK)
        return status;
    *out = tc_calloc(1, sizeof(**out));
    (*out)->frames = frames;
    (*out)->notes = notes;
    (*out)->name = name;
    return TC_OK;
}

void tc_lines_share(struct tc_lines *lines, struct tc_zio *zio)
{
    tc_frames_share(lines->frames, zio);
}

void tc_lines_close(struct tc_lines *lines)
{
    if (!lines)
        return;
    tc_frames_close(lines->frames);
    tc_strbuf_release(&lines->text);
    tc_strbuf_release(&lines->packed);
    tc_free(lines);
}

/* Take [pos, end) and the newline there. False if it is nothing to return. */
static bool take_line(struct tc_lines *l, const char *end, struct tc_str *out)
{
    const char *begin = l->text.text + l->pos;
    bool is_skipped = l->is_skipping;

    l->pos = l->searched = (size_t)(end - l->text.text) + 1;
    while (end > begin && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t'))
        end--;
    l->number += !(l->is_tail_taken && begin == end);
    l->is_tail_taken = l->is_skipping = false;
    *out = (struct tc_str){begin, (uint32_t)(end - begin)};
    return begin < end && !is_skipped;
}

/* Forget what was returned and what has grown too long. */
static void tidy(struct tc_lines *l)
{
    size_t rest = l->text.size - l->pos;

    if (rest > MAX_LINE || l->is_skipping) {
        if (!l->is_skipping)
            tc_notes_add(l->notes, "bad-json", l->name, l->number + 1,
                         "a line of more than %zu bytes", MAX_LINE);
        l->is_skipping = true;
        rest = 0;
    }
    if (rest)
        memmove(l->text.text, l->text.text + l->text.size - rest, rest);
    l->text.size = l->searched = rest;
    l->pos = l->end = 0;
}

/* More text behind the rest, or in its place if something between them is lost. */
static enum tc_status add_text(struct tc_lines *l, struct tc_error *err)
{
    size_t rest, before;
    bool is_gap;
    enum tc_status status;

    tidy(l);
    rest = before = l->text.size;
    status = tc_frames_next(l->frames, &l->text, &is_gap, err);
    l->json_bytes += l->text.size - before;
    if (is_gap) {
        l->pos = l->searched = rest;
        l->is_skipping = l->is_tail_taken = false;
    }
    for (l->end = l->text.size; l->end > rest && l->text.text[l->end - 1] != '\n';)
        l->end--;
    return status;
}

/* Of a file that holds no lines at all, a hole of terabytes for one, nothing more is read. */
static enum tc_status too_long(const struct tc_lines *l, struct tc_error *err)
{
    return tc_error_set(err, TC_E_FORMAT, "%s: not a trace: its first line has more than %zu MiB",
                        l->name, MAX_LINE >> 20);
}

/* Less is not worth it. */
#define LEAST_PACKED 4096

/* Keep [0, size) of the text without spare memory, or packed. */
static void pack(struct tc_lines *l)
{
    struct tc_strbuf packed = TC_STRBUF_INIT;

    if (tc_zio_pack(tc_frames_zio(l->frames), l->text.text, l->text.size, &packed, NULL) == TC_OK) {
        tc_strbuf_add(&l->packed, packed.text, packed.size);
        tc_strbuf_release(&l->text);
    }
    tc_strbuf_release(&packed);
}

static enum tc_status unpack(struct tc_lines *l, struct tc_error *err)
{
    size_t used;
    enum tc_status status = tc_zio_unpack(tc_frames_zio(l->frames), l->packed.text, l->packed.size,
                                          &l->text, &used, err);

    tc_strbuf_release(&l->packed);
    return status;
}

enum tc_status tc_lines_next(struct tc_lines *lines, struct tc_str *out, struct tc_error *err)
{
    struct tc_lines *l = lines;
    const enum tc_status unpacked = l->packed.size ? unpack(l, err) : TC_OK;

    if (unpacked != TC_OK)
        return unpacked;
    for (;;) {
        size_t size = l->text.size - l->searched;
        const char *end = size ? memchr(l->text.text + l->searched, '\n', size) : NULL;
        enum tc_status status;

        if (end) {
            if (take_line(l, end, out))
                return TC_OK;
            continue;
        }
        status = add_text(l, err);
        if (status != TC_OK)
            return status;
        if (l->is_skipping && !l->number)
            return too_long(l, err);
    }
}

bool tc_lines_is_waiting(const struct tc_lines *lines)
{
    return lines && lines->pos < lines->end;
}

void tc_lines_park(struct tc_lines *lines)
{
    struct tc_strbuf rest = TC_STRBUF_INIT;

    if (!lines || lines->packed.size)
        return;
    if (lines->pos < lines->text.size)
        tc_strbuf_add(&rest, lines->text.text + lines->pos, lines->text.size - lines->pos);
    lines->searched -= lines->pos;
    lines->end = lines->end > lines->pos ? lines->end - lines->pos : 0;
    lines->pos = 0;
    tc_strbuf_release(&lines->text);
    lines->text = rest;
    if (tc_lines_is_waiting(lines) && rest.size >= LEAST_PACKED)
        pack(lines);
    tc_frames_park(lines->frames);
}

struct tc_str tc_lines_tail(const struct tc_lines *lines)
{
    size_t size = lines->is_skipping ? 0 : lines->text.size - lines->pos;

    return (struct tc_str){size ? lines->text.text + lines->pos : NULL, (uint32_t)size};
}

void tc_lines_take_tail(struct tc_lines *lines)
{
    lines->pos = lines->searched = lines->text.size;
    lines->number++;
    lines->is_tail_taken = true;
}

size_t tc_lines_torn(const struct tc_lines *lines)
{
    return tc_lines_tail(lines).size + tc_frames_torn(lines->frames);
}

bool tc_lines_has_all_of(const struct tc_lines *lines, uint64_t size)
{
    return !lines->packed.size && lines->pos == lines->text.size && !lines->is_skipping &&
           tc_frames_has_all_of(lines->frames, size);
}

uint64_t tc_lines_number(const struct tc_lines *lines)
{
    return lines->number;
}

uint64_t tc_lines_file_bytes(const struct tc_lines *lines)
{
    return tc_frames_bytes(lines->frames);
}

uint64_t tc_lines_json_bytes(const struct tc_lines *lines)
{
    return lines->json_bytes;
}
