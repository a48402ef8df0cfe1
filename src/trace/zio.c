/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zio.c - the one door to zstd
 */
#include "trace/zio.h"

#include <stdint.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "base/arena.h"
#include "base/vec.h"

/* Bytes a frame of TC_ZIO_MAX_FRAME can have; an incomplete one that is longer will never end well.
 */
#define MAX_PACKED ZSTD_compressBound(TC_ZIO_MAX_FRAME)

/* Of TC_ZIO_LEVEL: with fewer places to look a text up the nearest is found, which is most like it.
 */
#define HASH_LOG 12

struct tc_zio {
    ZSTD_CCtx *pack; /* NULL until needed */
    ZSTD_DCtx *unpack;
    int level;
};

struct tc_zio *tc_zio_new(void)
{
    struct tc_zio *zio = tc_calloc(1, sizeof(*zio));

    zio->level = TC_ZIO_LEVEL;
    return zio;
}

void tc_zio_set_level(struct tc_zio *zio, int level)
{
    zio->level = level;
}

void tc_zio_free(struct tc_zio *zio)
{
    if (!zio)
        return;
    ZSTD_freeCCtx(zio->pack);
    ZSTD_freeDCtx(zio->unpack);
    tc_free(zio);
}

static ZSTD_CCtx *pack_context(struct tc_zio *zio)
{
    if (zio->pack)
        return zio->pack;
    zio->pack = ZSTD_createCCtx();
    if (!zio->pack)
        tc_out_of_memory();
    ZSTD_CCtx_setParameter(zio->pack, ZSTD_c_compressionLevel, zio->level);
    ZSTD_CCtx_setParameter(zio->pack, ZSTD_c_checksumFlag, 1);
    if (zio->level == TC_ZIO_LEVEL)
        ZSTD_CCtx_setParameter(zio->pack, ZSTD_c_hashLog, HASH_LOG);
    return zio->pack;
}

enum tc_status tc_zio_pack(struct tc_zio *zio, const void *data, size_t size, struct tc_strbuf *out,
                           struct tc_error *err)
{
    size_t room = ZSTD_compressBound(size), n;

    if (size > TC_ZIO_MAX_FRAME)
        return tc_error_set(err, TC_E_FORMAT, "a frame of %zu bytes is above the limit of %zu",
                            size, TC_ZIO_MAX_FRAME);
    tc_strbuf_reserve(out, room);
    n = ZSTD_compress2(pack_context(zio), out->text + out->size, room, data, size);
    if (ZSTD_isError(n))
        return tc_error_set(err, TC_E_IO, "zstd: %s", ZSTD_getErrorName(n));
    out->size += n;
    out->text[out->size] = '\0';
    return TC_OK;
}

static uint32_t read_magic(const void *data)
{
    const uint8_t *p = data;

    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool tc_zio_is_frame(const void *data, size_t size)
{
    return size >= 4 && read_magic(data) == ZSTD_MAGICNUMBER;
}

static bool has_skippable_magic(const void *data, size_t size)
{
    return size >= 4 &&
           (read_magic(data) & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

void tc_zio_pack_skippable(uint64_t size, struct tc_strbuf *out)
{
    const uint32_t numbers[] = {ZSTD_MAGIC_SKIPPABLE_START,
                                (uint32_t)(size - TC_ZIO_SKIPPABLE_HEADER)};

    for (size_t i = 0; i < 2; i++)
        for (unsigned shift = 0; shift < 32; shift += 8)
            tc_strbuf_addc(out, (char)(numbers[i] >> shift & 0xff));
}

bool tc_zio_is_skippable(const void *data, size_t size, uint64_t *frame)
{
    if (size < TC_ZIO_SKIPPABLE_HEADER || !has_skippable_magic(data, size))
        return false;
    *frame = TC_ZIO_SKIPPABLE_HEADER + (uint64_t)read_magic((const uint8_t *)data + 4);
    return true;
}

/* Could the bytes, fewer than eight, go on to be a frame, or a skippable one? */
static bool is_frame_prefix(const void *data, size_t size)
{
    const uint8_t *p = data;
    const uint8_t kind = size ? p[0] & 0xf0 : 0;
    bool is_frame = true, is_skippable = !size || kind == (ZSTD_MAGIC_SKIPPABLE_START & 0xf0);

    for (size_t i = 0; i < size && i < 4; i++) {
        is_frame &= p[i] == (ZSTD_MAGICNUMBER >> 8 * i & 0xff);
        is_skippable &= !i || p[i] == (ZSTD_MAGIC_SKIPPABLE_START >> 8 * i & 0xff);
    }
    return is_skippable || (is_frame && size < 4);
}

static enum tc_status damaged(struct tc_error *err, const char *why)
{
    return tc_error_set(err, TC_E_FORMAT, "damaged zstd frame: %s", why);
}

/* The length of the whole frame at data, and what it says it decodes to. */
static enum tc_status measure(const void *data, size_t size, size_t *used,
                              unsigned long long *content, struct tc_error *err)
{
    if (size < TC_ZIO_SKIPPABLE_HEADER && is_frame_prefix(data, size))
        return TC_END;
    if (!tc_zio_is_frame(data, size))
        return damaged(err, "it does not begin like one");
    *content = ZSTD_getFrameContentSize(data, size);
    if (*content<ZSTD_CONTENTSIZE_ERROR && * content> TC_ZIO_MAX_FRAME)
        return damaged(err, "its size is above the limit");
    *used = ZSTD_findFrameCompressedSize(data, size);
    if (ZSTD_getErrorCode(*used) == ZSTD_error_srcSize_wrong && size <= MAX_PACKED)
        return TC_END;
    return ZSTD_isError(*used) ? damaged(err, ZSTD_getErrorName(*used)) : TC_OK;
}

static enum tc_status unpack_known(ZSTD_DCtx *context, const void *data, size_t size,
                                   size_t content, struct tc_strbuf *out, struct tc_error *err)
{
    size_t n;

    tc_strbuf_reserve(out, content);
    n = ZSTD_decompressDCtx(context, out->text + out->size, content, data, size);
    if (ZSTD_isError(n))
        return damaged(err, ZSTD_getErrorName(n));
    out->size += n;
    return TC_OK;
}

/* A frame of another tool, whose header does not tell the decoded size. */
static enum tc_status unpack_unknown(ZSTD_DCtx *context, const void *data, size_t size,
                                     struct tc_strbuf *out, struct tc_error *err)
{
    ZSTD_inBuffer in = {data, size, 0};
    size_t before = out->size, left = 1;

    ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    while (left) {
        ZSTD_outBuffer piece;

        tc_strbuf_reserve(out, ZSTD_DStreamOutSize());
        piece = (ZSTD_outBuffer){out->text + out->size, ZSTD_DStreamOutSize(), 0};
        left = ZSTD_decompressStream(context, &piece, &in);
        if (ZSTD_isError(left))
            return damaged(err, ZSTD_getErrorName(left));
        out->size += piece.pos;
        if (out->size - before > TC_ZIO_MAX_FRAME)
            return damaged(err, "its size is above the limit");
        if (left && in.pos == in.size && !piece.pos)
            return damaged(err, "it ends too early");
    }
    return TC_OK;
}

enum tc_status tc_zio_unpack(struct tc_zio *zio, const void *data, size_t size,
                             struct tc_strbuf *out, size_t *used, struct tc_error *err)
{
    size_t before = out->size;
    unsigned long long content = ZSTD_CONTENTSIZE_UNKNOWN;
    enum tc_status status = measure(data, size, used, &content, err);

    if (status != TC_OK)
        return status;
    if (!zio->unpack && !(zio->unpack = ZSTD_createDCtx()))
        tc_out_of_memory();
    if (content < ZSTD_CONTENTSIZE_ERROR)
        status = unpack_known(zio->unpack, data, *used, (size_t)content, out, err);
    else
        status = unpack_unknown(zio->unpack, data, *used, out, err);
    if (status != TC_OK)
        out->size = before;
    if (out->text)
        out->text[out->size] = '\0';
    return status;
}
