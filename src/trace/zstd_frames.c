/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd_frames.c - the bytes of a trace file as JSON text
 */
#include "trace/zstd_frames.h"

#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "trace/bytes.h"

#define READ_SIZE (((size_t)128 << 10) - 1) /* a text of it takes 128 KiB */
#define LEAST     (((size_t)4 << 10) - 1)   /* to read of a file that may be growing */
#define MAX_TRIES 16                        /* frames tried behind one that looks unfinished */

struct tc_frames {
    struct tc_bytes bytes; /* closed while parked */
    const char *path, *name;
    struct tc_notes *notes;
    struct tc_zio *zio;   /* NULL until needed */
    struct tc_strbuf raw; /* read and not yet decoded, from pos on */
    size_t pos;
    uint64_t n_bytes;  /* read so far: where the next read goes */
    uint64_t n_frames; /* decoded so far, damaged ones included */
    uint64_t end_seen; /* n_bytes at the last TC_END */
    uint64_t parked;   /* n_bytes when it was parked last */
    size_t ask;        /* bytes to read next, at most */
    bool is_plain;
    bool is_shared; /* the zio is another's */
    bool is_lost;   /* since a damaged frame no whole one was found */
};

/* A hole of terabytes takes no disk, but would take hours to read: of one that is longer than any
 * frame and line only the last zeros are read, which break what they stand in as all of them would.
 */
static void skip_hole(struct tc_frames *f, uint64_t size)
{
    uint64_t end;

    if (size < f->n_bytes + TC_ZIO_MAX_FRAME)
        return;
    end = tc_bytes_behind_hole(&f->bytes, f->n_bytes, size);
    if (end < f->n_bytes + TC_ZIO_MAX_FRAME)
        return;
    tc_notes_add(f->notes, "hole", f->name, 0,
                 "bytes %llu to %llu are a hole in the file and are skipped",
                 (unsigned long long)f->n_bytes, (unsigned long long)end);
    f->n_bytes = end - LEAST;
}

/* Bytes to ask for of a file of that size, where rest are not yet decoded: no more than a small
 * file has, of which a folder may hold thousands. */
static size_t wanted(const struct tc_frames *f, uint64_t size, size_t rest)
{
    const size_t want = rest > f->ask ? rest : f->ask;
    const uint64_t left = size > f->n_bytes ? size - f->n_bytes : 0;

    if (left < LEAST)
        return LEAST;
    return left < want ? (size_t)left : want;
}

/* Read as much as is waiting already, so that a long frame is looked at few times. */
static enum tc_status fill(struct tc_frames *f, size_t *got, struct tc_error *err)
{
    size_t rest = f->raw.size - f->pos, want;
    enum tc_status status =
        tc_bytes_is_open(&f->bytes) ? TC_OK : tc_bytes_open(&f->bytes, f->path, err);
    uint64_t size;

    if (status != TC_OK)
        return status;
    if (f->pos) {
        memmove(f->raw.text, f->raw.text + f->pos, rest);
        f->raw.size = rest;
        f->pos = 0;
    }
    status = tc_bytes_size(&f->bytes, &size, err);
    if (status != TC_OK)
        return status;
    skip_hole(f, size);
    want = wanted(f, size, rest);
    tc_strbuf_reserve(&f->raw, want);
    status = tc_bytes_read(&f->bytes, f->n_bytes, f->raw.text + rest, want, got, err);
    if (status != TC_OK)
        return status;
    f->raw.size += *got;
    f->n_bytes += *got;
    f->ask = f->ask < READ_SIZE / 2 ? 2 * f->ask : READ_SIZE;
    return TC_OK;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);

    return n >= m && !strcmp(text + n - m, suffix);
}

static enum tc_status look_at_start(struct tc_frames *f, struct tc_error *err)
{
    size_t got;
    enum tc_status status = fill(f, &got, err);

    if (status != TC_OK)
        return status;
    if (!got)
        return tc_error_set(err, TC_E_FORMAT, "%s: not a trace: it is empty", f->path);
    f->is_plain = !tc_zio_is_frame(f->raw.text, f->raw.size);
    if (f->is_plain && has_suffix(f->path, ".py"))
        return tc_error_set(err, TC_E_FORMAT,
                            "%s: a script, not a trace: traincheck-collect -o DIR %s makes one",
                            f->path, f->path);
    if (f->is_plain && has_suffix(f->path, ".zst"))
        return tc_error_set(err, TC_E_FORMAT, "%s: not a trace: no zstd frame at its start",
                            f->path);
    return TC_OK;
}

enum tc_status tc_frames_open(const char *path, const char *name, struct tc_notes *notes,
                              struct tc_frames **out, struct tc_error *err)
{
    struct tc_frames *f = tc_calloc(1, sizeof(*f));
    enum tc_status status;

    *out = NULL;
    f->path = path;
    f->name = name;
    f->notes = notes;
    f->ask = READ_SIZE;
    status = tc_bytes_open(&f->bytes, path, err);
    if (status == TC_OK)
        status = look_at_start(f, err);
    if (status == TC_OK)
        *out = f;
    else
        tc_frames_close(f);
    return status;
}

void tc_frames_share(struct tc_frames *frames, struct tc_zio *zio)
{
    frames->zio = zio;
    frames->is_shared = true;
}

struct tc_zio *tc_frames_zio(struct tc_frames *frames)
{
    if (!frames->zio)
        frames->zio = tc_zio_new();
    return frames->zio;
}

static void drop_zio(struct tc_frames *f)
{
    if (f->is_shared)
        return;
    tc_zio_free(f->zio);
    f->zio = NULL;
}

void tc_frames_close(struct tc_frames *frames)
{
    if (!frames)
        return;
    tc_bytes_close(&frames->bytes);
    drop_zio(frames);
    tc_strbuf_release(&frames->raw);
    tc_free(frames);
}

/* Its next turn decodes as much as this one did: of what is read beyond that nothing is kept. */
static void expect_turn(struct tc_frames *f)
{
    const uint64_t turn = 2 * (f->n_bytes - f->parked);

    f->ask = turn < LEAST ? LEAST : turn < READ_SIZE ? (size_t)turn : READ_SIZE;
    f->parked = f->n_bytes;
}

void tc_frames_park(struct tc_frames *frames)
{
    tc_bytes_close(&frames->bytes);
    drop_zio(frames);
    frames->n_bytes -= frames->raw.size - frames->pos;
    frames->pos = 0;
    tc_strbuf_release(&frames->raw);
    expect_turn(frames);
}

/* Go to the next thing that looks like a frame. If there is none keep what may be half of one. */
static bool seek_frame(struct tc_frames *f)
{
    for (; f->raw.size - f->pos >= 4; f->pos++)
        if (tc_zio_is_frame(f->raw.text + f->pos, 4))
            return true;
    return false;
}

static void lose(struct tc_frames *f, const char *why)
{
    if (!f->is_lost) {
        f->n_frames++;
        tc_notes_add(f->notes, "bad-frame", f->name, 0,
                     "frame %llu at byte %llu cannot be read and is skipped: %s",
                     (unsigned long long)f->n_frames,
                     (unsigned long long)(f->n_bytes - (f->raw.size - f->pos)), why);
    }
    f->is_lost = true;
    f->pos++;
}

/* Past the frames at pos that hold nothing, of which most is not read. */
static void skip_skippable(struct tc_frames *f)
{
    uint64_t size;

    while (tc_zio_is_skippable(f->raw.text + f->pos, f->raw.size - f->pos, &size)) {
        if (size <= f->raw.size - f->pos) {
            f->pos += (size_t)size;
            continue;
        }
        f->n_bytes += size - (f->raw.size - f->pos);
        f->pos = f->raw.size;
    }
}

/* The frame at pos, appended to text. */
static enum tc_status unpack(struct tc_frames *f, struct tc_strbuf *text, struct tc_error *err)
{
    size_t used = 0;
    enum tc_status status = TC_END;

    if (f->is_lost && !seek_frame(f))
        return TC_END;
    skip_skippable(f);
    if (f->pos < f->raw.size)
        status = tc_zio_unpack(tc_frames_zio(f), f->raw.text + f->pos, f->raw.size - f->pos, text,
                               &used, err);
    if (status != TC_OK)
        return status;
    f->pos += used;
    f->n_frames++;
    f->is_lost = false;
    return TC_OK;
}

/*
 * At the end of the file a frame seems unfinished. If a whole one follows inside of it, then it is
 * damaged: the length of one of its blocks is wrong.
 */
static bool is_followed(struct tc_frames *f)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    const char *p = f->raw.text + f->pos + 1, *end = f->raw.text + f->raw.size;
    bool found = false;

    for (int tries = 0; tries < MAX_TRIES && end - p >= 4 && !found; p++) {
        size_t used;

        if (!tc_zio_is_frame(p, 4))
            continue;
        tries++;
        found = tc_zio_unpack(tc_frames_zio(f), p, (size_t)(end - p), &text, &used, NULL) == TC_OK;
    }
    tc_strbuf_release(&text);
    return found;
}

static enum tc_status next_piece(struct tc_frames *f, struct tc_strbuf *text, struct tc_error *err)
{
    size_t got;
    enum tc_status status = TC_OK;

    if (f->pos == f->raw.size) {
        status = fill(f, &got, err);
        if (status != TC_OK || !got)
            return status != TC_OK ? status : TC_END;
    }
    tc_strbuf_add(text, f->raw.text + f->pos, f->raw.size - f->pos);
    f->pos = f->raw.size;
    return TC_OK;
}

enum tc_status tc_frames_next(struct tc_frames *frames, struct tc_strbuf *text, bool *is_gap,
                              struct tc_error *err)
{
    struct tc_frames *f = frames;
    struct tc_error why;
    enum tc_status status;
    size_t got;

    *is_gap = f->is_lost;
    if (f->is_plain)
        return next_piece(f, text, err);
    for (;;) {
        status = unpack(f, text, &why);
        if (status == TC_OK)
            return TC_OK;
        if (status == TC_E_FORMAT) {
            lose(f, why.text);
            *is_gap = true;
            continue;
        }
        status = fill(f, &got, err);
        if (status != TC_OK)
            return status;
        if (got)
            continue;
        if (f->end_seen == f->n_bytes || !is_followed(f))
            break;
        lose(f, "its length is wrong");
        *is_gap = true;
    }
    f->end_seen = f->n_bytes;
    return TC_END;
}

size_t tc_frames_torn(const struct tc_frames *frames)
{
    size_t rest = frames->raw.size - frames->pos;

    if (frames->is_plain || (frames->is_lost && rest < 4))
        return 0; /* what follows a damaged frame was counted with it */
    return rest;
}

bool tc_frames_has_all_of(const struct tc_frames *frames, uint64_t size)
{
    return frames->pos == frames->raw.size && !frames->is_lost && frames->n_bytes >= size;
}

uint64_t tc_frames_bytes(const struct tc_frames *frames)
{
    return frames->n_bytes;
}
