/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_zio.c - frames, and a whole trace file made of the input
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "fuzz.h"
#include "trace/zio.h"
#include <traincheck/trace.h>

static void check_frame(const uint8_t *data, size_t size)
{
    struct tc_zio *zio = tc_zio_new();
    struct tc_strbuf text = TC_STRBUF_INIT, packed = TC_STRBUF_INIT;
    struct tc_error err;
    size_t used = 0;

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
    tc_zio_free(zio);
}

/* In memory where there is such a folder: fuzzing writes one file for each input. */
static void check_file(const uint8_t *data, size_t size)
{
    struct tc_notes *notes = tc_notes_new();
    struct tc_trace_file *file;
    const struct tc_record *record;
    struct tc_error err;
    char path[64];

    snprintf(path, sizeof(path), "%s/trace_fuzz_%ld.jsonl",
             tc_fs_is_dir("/dev/shm") ? "/dev/shm" : ".", (long)getpid());
    FUZZ_CHECK(tc_fs_write(path, data, size, NULL) == TC_OK);
    if (tc_trace_file_open(path, notes, &file, &err) == TC_OK) {
        while (tc_trace_file_next(file, &record, &err) == TC_OK)
            FUZZ_CHECK(record->object && record->line > 1);
        FUZZ_CHECK(tc_trace_file_next(file, &record, &err) == TC_END);
        FUZZ_CHECK(tc_trace_file_bytes(file) == size);
        tc_trace_file_close(file);
    }
    tc_notes_free(notes);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_frame(data, size);
    check_file(data, size);
    return 0;
}
