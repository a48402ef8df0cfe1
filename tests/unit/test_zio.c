/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_zio.c - frames
 */
#include "trace_make.h"

#include <zstd.h>

static struct tc_zio *zio;

static enum tc_status unpack(const void *data, size_t size, struct tc_strbuf *out, size_t *used)
{
    struct tc_error err;

    return tc_zio_unpack(zio, data, size, out, used, &err);
}

static void frames_come_back(void **state)
{
    static const size_t sizes[] = {0, 1, 10, 1000, 300000, (size_t)3 << 20};
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < N_OF(sizes); i++) {
        struct tc_strbuf in = TC_STRBUF_INIT, packed = TC_STRBUF_INIT, out = TC_STRBUF_INIT;
        size_t used;

        tc_strbuf_adds(&in, "");
        while (in.size < sizes[i])
            tc_strbuf_addc(&in, (char)(unit_random(&seed) >> 60));
        make_frame(&packed, in.text, in.size);
        assert_true(tc_zio_is_frame(packed.text, packed.size));
        assert_false(tc_zio_is_frame(packed.text, 3));
        tc_strbuf_adds(&packed, "more");
        tc_strbuf_adds(&out, "head");
        assert_int_equal(unpack(packed.text, packed.size, &out, &used), TC_OK);
        assert_int_equal(used, packed.size - 4);
        assert_int_equal(out.size, in.size + 4);
        assert_memory_equal(out.text + 4, in.text, in.size);
        tc_strbuf_release(&in);
        tc_strbuf_release(&packed);
        tc_strbuf_release(&out);
    }
}

static void headers_tell_size_and_checksum(void **state)
{
    struct tc_strbuf packed = TC_STRBUF_INIT;

    (void)state;
    make_frame(&packed, "abc", 3);
    assert_int_equal(ZSTD_getFrameContentSize(packed.text, packed.size), 3);
    assert_true(packed.text[4] & 4); /* frame header descriptor: Content_Checksum_flag */
    tc_strbuf_release(&packed);
}

static void every_beginning_is_unfinished(void **state)
{
    struct tc_strbuf packed = TC_STRBUF_INIT, out = TC_STRBUF_INIT;
    size_t used;

    (void)state;
    make_frame(&packed, "some text, some text, some more text", 36);
    for (size_t size = 0; size < packed.size; size++)
        assert_int_equal(unpack(packed.text, size, &out, &used), TC_END);
    assert_int_equal(out.size, 0);
    tc_strbuf_release(&packed);
    tc_strbuf_release(&out);
}

static void every_changed_bit_is_found(void **state)
{
    struct tc_strbuf packed = TC_STRBUF_INIT, out = TC_STRBUF_INIT;
    static const char text[] =
        "{\"type\":\"step\",\"step\":1,\"t\":2}\n{\"type\":\"end\",\"t\":3}\n";
    size_t used;

    (void)state;
    make_frame(&packed, text, sizeof(text) - 1);
    for (size_t bit = 0; bit < 8 * packed.size; bit++) {
        enum tc_status status;

        packed.text[bit / 8] = (char)(packed.text[bit / 8] ^ 1 << bit % 8);
        tc_strbuf_reset(&out);
        status = unpack(packed.text, packed.size, &out, &used);
        /* A bit without meaning may change, but never the text. */
        if (status == TC_OK && used == packed.size)
            assert_string_equal(out.text, text);
        else
            assert_int_equal(out.size * (status != TC_OK), 0);
        packed.text[bit / 8] = (char)(packed.text[bit / 8] ^ 1 << bit % 8);
    }
    tc_strbuf_release(&packed);
    tc_strbuf_release(&out);
}

static void frames_without_size_are_taken(void **state)
{
    struct tc_strbuf in = TC_STRBUF_INIT, out = TC_STRBUF_INIT;
    char packed[4096];
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_outBuffer to = {packed, sizeof(packed), 0};
    ZSTD_inBuffer from;
    size_t used;

    (void)state;
    for (int i = 0; i < 500000; i++)
        tc_strbuf_addc(&in, 'x');
    from = (ZSTD_inBuffer){in.text, in.size, 0};
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    assert_int_equal(ZSTD_compressStream2(context, &to, &from, ZSTD_e_end), 0);
    assert_int_equal(unpack(packed, to.pos, &out, &used), TC_OK);
    assert_int_equal(used, to.pos);
    assert_int_equal(out.size, in.size);
    assert_memory_equal(out.text, in.text, in.size);
    for (size_t size = 0; size < to.pos; size++)
        assert_int_equal(unpack(packed, size, &out, &used), TC_END);
    ZSTD_freeCCtx(context);
    tc_strbuf_release(&in);
    tc_strbuf_release(&out);
}

/* A header that promises 2^60 bytes. */
static void bombs_are_refused(void **state)
{
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
                                          0,    0,    0,    0,    0x10, 1, 0, 0};
    struct tc_strbuf out = TC_STRBUF_INIT, zeros = TC_STRBUF_INIT;
    struct tc_error err;
    size_t used;

    (void)state;
    assert_int_equal(tc_zio_unpack(zio, frame, sizeof(frame), &out, &used, &err), TC_E_FORMAT);
    assert_non_null(strstr(err.text, "limit"));
    assert_true(out.cap < 1000);
    tc_strbuf_reserve(&zeros, TC_ZIO_MAX_FRAME + 1);
    assert_int_equal(tc_zio_pack(zio, zeros.text, TC_ZIO_MAX_FRAME + 1, &out, &err), TC_E_FORMAT);
    tc_strbuf_release(&out);
    tc_strbuf_release(&zeros);
}

static void other_bytes_are_no_frame(void **state)
{
    struct tc_strbuf out = TC_STRBUF_INIT;
    size_t used;

    (void)state;
    assert_int_equal(unpack("{\"type\":1}", 10, &out, &used), TC_E_FORMAT);
    assert_int_equal(unpack("\x28\xb5x", 3, &out, &used), TC_E_FORMAT);
    assert_false(tc_zio_is_frame("\x28\xb5\x2f\xfc", 4));
    tc_strbuf_release(&out);
}

static int setup(void **state)
{
    (void)state;
    zio = tc_zio_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_zio_free(zio);
    tc_zio_free(NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(headers_tell_size_and_checksum),
        cmocka_unit_test(every_beginning_is_unfinished),
        cmocka_unit_test(every_changed_bit_is_found),
        cmocka_unit_test(frames_without_size_are_taken),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(other_bytes_are_no_frame),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
