/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_zio.c - frames, and a whole trace file made of the input
 *
 * Both as a test; a fuzzer takes one of them, as the input's hash says.
 */
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "fuzz.h"
#include "scratch.h"
#include "trace/zio.h"
#include <traincheck/trace.h>

static void check_frame(const uint8_t *data, size_t size)
{
    static struct tc_zio *zio; /* a trace's writer and reader keep theirs, too */
    struct tc_strbuf text = TC_STRBUF_INIT, packed = TC_STRBUF_INIT;
    struct tc_error err;
    size_t used = 0;

    if (!zio)
        zio = tc_zio_new();
    if (tc_zio_unpack(zio, data, size, &text, &used, &err) == TC_OK)
        FUZZ_CHECK(used > 0 && used <= size);
    else
        FUZZ_CHECK(!text.size);
    tc_strbuf_reset(&text);
    FUZZ_CHECK(tc_zio_pack(zio, data, size, &packed, NULL) == TC_OK);
    FUZZ_CHECK(tc_zio_unpack(zio, packed.text, packed.size, &text, &used, NULL) == TC_OK);
    FUZZ_CHECK(used == packed.size && text.size == size);
    FUZZ_CHECK(!size || !memcmp(text.text, data, size));
    tc_strbuf_release(&text);
    tc_strbuf_release(&packed);
}

static void check_file(const uint8_t *data, size_t size)
{
    struct tc_notes *notes = tc_notes_new();
    struct tc_trace_file *file;
    const struct tc_record *record;
    struct tc_error err;
    const char *path = fuzz_path("trace_fuzz.jsonl");

    fuzz_put(path, data, size);
    if (tc_trace_file_open(path, notes, &file, &err) == TC_OK) {
        while (tc_trace_file_next(file, &record, &err) == TC_OK)
            FUZZ_CHECK(record->object && record->line > 1);
        FUZZ_CHECK(tc_trace_file_next(file, &record, &err) == TC_END);
        FUZZ_CHECK(tc_trace_file_bytes(file) == size);
        tc_trace_file_close(file);
    }
    tc_notes_free(notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#ifdef TC_FUZZ
    const bool is_file = tc_hash64(data, size, 0) % 2, is_frame = !is_file;
#else
    const bool is_file = true, is_frame = true;
#endif

    if (is_frame)
        check_frame(data, size);
    if (is_file)
        check_file(data, size);
    return 0;
}
