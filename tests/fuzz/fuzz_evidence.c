/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_evidence.c - rows of evidence: refused with a text, or read; written and read again they
 * are the same bytes, and invariants are made of them
 *
 * The input is what stands inside the frames: so the mutator sees lines.
 */
#include <string.h>

#include "fuzz.h"
#include "relation/evidence_io.h"
#include "scratch.h"
#include "trace/zio.h"
#include <traincheck/infer.h>

static void pack(const char *path, const uint8_t *data, size_t size)
{
    struct tc_zio *zio = tc_zio_new();
    struct tc_strbuf packed = TC_STRBUF_INIT;

    FUZZ_CHECK(tc_zio_pack(zio, data, size, &packed, NULL) == TC_OK);
    fuzz_put(path, packed.text, packed.size);
    tc_strbuf_release(&packed);
    tc_zio_free(zio);
}

/* Read one file and write it as another; false if it is refused. */
static bool copy(const char *from, const char *to)
{
    struct tc_evidence evidence;
    struct tc_error err = {TC_OK, ""};
    uint64_t n_unknown = 0;
    enum tc_status status;

    tc_evidence_init(&evidence);
    status = tc_evidence_read(&evidence, from, &n_unknown, &err);
    if (status == TC_OK)
        FUZZ_CHECK(tc_evidence_write(&evidence, to, NULL) == TC_OK);
    else
        FUZZ_CHECK(err.text[0]);
    tc_evidence_release(&evidence);
    return status == TC_OK;
}

static void check_copies(const char *once, const char *twice)
{
    struct tc_strbuf a = TC_STRBUF_INIT, b = TC_STRBUF_INIT;

    FUZZ_CHECK(copy(once, twice));
    fuzz_get(once, &a);
    fuzz_get(twice, &b);
    FUZZ_CHECK(a.size == b.size && !memcmp(a.text, b.text, a.size));
    tc_strbuf_release(&a);
    tc_strbuf_release(&b);
}

static void write_nothing(void *context, const char *text, size_t size)
{
    (void)context;
    FUZZ_CHECK(!size || text);
}

static void infer(const char *path)
{
    struct tc_infer_config config = {.traces = &path,
                                     .n_traces = 1,
                                     .output = "-",
                                     .profile = "-",
                                     .jobs = 1,
                                     .specific = true,
                                     .min_support = 2,
                                     .write = write_nothing};
    struct tc_infer_result result = {0};
    struct tc_notes *notes = tc_notes_new();
    struct tc_error err = {TC_OK, ""};

    if (tc_infer_run(&config, &result, notes, &err) != TC_OK)
        FUZZ_CHECK(err.text[0]);
    tc_notes_free(notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *given = fuzz_path("given.tce"), *once = fuzz_path("once.tce");

    pack(given, data, size);
    if (copy(given, once)) {
        check_copies(once, fuzz_path("twice.tce"));
        infer(given);
    }
    return 0;
}
