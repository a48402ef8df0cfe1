/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_make.h - trace files made for tests
 */
#ifndef TC_TESTS_TRACE_MAKE_H
#define TC_TESTS_TRACE_MAKE_H

#include "unit.h"

#include <inttypes.h>

#include "base/fs.h"
#include "base/strbuf.h"
#include "trace/zio.h"
#include <traincheck/trace.h>

/* A process record whose clock stood at unix_ns. */
static inline void make_process(struct tc_strbuf *text, int64_t unix_ns)
{
    tc_strbuf_addf(text,
                   "{\"type\":\"process\",\"schema\":1,\"pid\":1,\"role\":\"main\","
                   "\"unix_ns\":%" PRId64 "}\n",
                   unix_ns);
}

static inline void make_step(struct tc_strbuf *text, int64_t step, int64_t t)
{
    tc_strbuf_addf(text, "{\"type\":\"step\",\"step\":%" PRId64 ",\"t\":%" PRId64 "}\n", step, t);
}

/* Append a frame that holds text. */
static inline void make_frame(struct tc_strbuf *file, const char *text, size_t size)
{
    struct tc_zio *zio = tc_zio_new();
    struct tc_error err;

    assert_int_equal(tc_zio_pack(zio, text, size, file, &err), TC_OK);
    tc_zio_free(zio);
}

static inline void put_file(const char *path, const void *data, size_t size)
{
    struct tc_error err;

    if (tc_fs_write(path, data, size, &err) != TC_OK)
        fail_msg("%s", err.text);
}

static inline void append_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "ab");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static inline struct tc_trace_file *open_trace(const char *path, struct tc_notes *notes)
{
    struct tc_trace_file *file;
    struct tc_error err = {TC_OK, ""};

    if (tc_trace_file_open(path, notes, &file, &err) != TC_OK)
        fail_msg("%s", err.text);
    return file;
}

/* Read on to TC_END; the records must be the steps *next, *next + 1, ... */
static inline void read_steps(struct tc_trace_file *file, int64_t *next)
{
    const struct tc_record *record;
    struct tc_error err;
    enum tc_status status;

    while ((status = tc_trace_file_next(file, &record, &err)) == TC_OK) {
        assert_int_equal(record->type, TC_RECORD_STEP);
        assert_int_equal(record->step, *next);
        ++*next;
    }
    assert_int_equal(status, TC_END);
}

/* The note of that code, or NULL. */
static inline const struct tc_note *find_note(const struct tc_notes *notes, const char *code)
{
    for (size_t i = 0; i < tc_notes_count(notes); i++)
        if (!strcmp(tc_notes_get(notes, i)->code, code))
            return tc_notes_get(notes, i);
    return NULL;
}

#endif /* TC_TESTS_TRACE_MAKE_H */
