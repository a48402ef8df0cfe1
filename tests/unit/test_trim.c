/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trim.c - frames that are deleted from a trace: what stays, what it says, what disk it takes
 */
#include "unit.h"

#include <sys/stat.h>

#include "base/fs.h"
#include "trace/trim.h"
#include "trace/writer.h"
#include <traincheck/trace.h>

#define N_STEPS 400
#define PAD     20000 /* bytes of a frame, at least: random text hardly packs */

static const char process_line[] =
    "{\"type\":\"process\",\"schema\":6,\"pid\":1,\"role\":\"main\",\"rank\":0}\n";

static void add(struct tc_writer *writer, const char *line)
{
    struct tc_error err;

    assert_int_equal(tc_writer_add(writer, line, strlen(line), 0, &err), TC_OK);
}

static void add_pad(struct tc_writer *writer, uint64_t *state, int step)
{
    static char line[PAD + 200];
    int n = snprintf(line, sizeof(line),
                     "{\"type\":\"call\",\"id\":%d,\"fn\":\"f\",\"t\":%d,\"step\":%d,\"at\":\"",
                     step + 1, 10 * step, step);

    for (int i = 0; i < PAD; i++)
        line[n++] = (char)('0' + unit_random(state) % 64);
    for (int i = n - PAD; i < n; i++)
        if (line[i] == '\\')
            line[i] = 'x';
    snprintf(line + n, sizeof(line) - (size_t)n, "\"}\n");
    add(writer, line);
}

/* A frame for each step: a call, what changes of variable 7 and of variable 8, its end. */
static char *write_trace(const char *folder)
{
    char *path = tc_fs_join(folder, "trace_h_r0_p1.jsonl.zst"), line[300];
    struct tc_writer *writer;
    struct tc_error err;
    uint64_t state = 1;

    assert_int_equal(tc_writer_open(path, &writer, &err), TC_OK);
    add(writer, process_line);
    for (int step = 0; step < N_STEPS; step++) {
        add_pad(writer, &state, step);
        if (step == 3)
            add(writer,
                "{\"type\":\"api\",\"fn\":\"late\",\"role\":\"step\"}\n"
                "{\"type\":\"var\",\"var\":8,\"t\":31,\"step\":3,\"name\":\"b\",\"kind\":"
                "\"Parameter\",\"attrs\":{\"dtype\":\"float32\",\"data\":\"00\",\"n\":[1,2]}}\n");
        snprintf(
            line, sizeof(line),
            "{\"type\":\"var\",\"var\":%d,\"t\":%d,\"step\":%d,\"attrs\":{\"data\":\"%04d\"}}\n"
            "{\"type\":\"return\",\"id\":%d,\"t\":%d}\n"
            "{\"type\":\"step\",\"step\":%d,\"t\":%d}\n",
            step >= 3 ? 8 : 7, 10 * step + 1, step, step, step + 1, 10 * step + 2, step,
            10 * step + 3);
        add(writer, line);
        assert_int_equal(tc_writer_flush(writer, &err), TC_OK);
    }
    assert_int_equal(tc_writer_close(writer, &err), TC_OK);
    return path;
}

struct wish {
    int64_t finding; /* that step and those around it stay */
    int64_t from;    /* so do all from there on */
};

static bool keeps(void *context, int64_t first_step, int64_t last_step, bool *ends)
{
    const struct wish *wish = context;

    *ends = last_step >= wish->from;
    return *ends || (last_step >= wish->finding - TC_TRIM_AROUND &&
                     first_step <= wish->finding + TC_TRIM_AROUND);
}

static uint64_t disk(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static uint64_t trim(struct tc_trim *trimmer, struct wish wish, uint64_t bytes)
{
    uint64_t freed;
    struct tc_error err = {TC_OK, ""};
    const struct tc_trim_order order = {bytes, UINT64_MAX, keeps, &wish};

    if (tc_trim_run(trimmer, &order, &freed, &err))
        fail_msg("%s", err.text);
    return freed;
}

/* What is read of it. */
struct seen {
    bool has_step[N_STEPS];
    char notes[10][100];
    int64_t counts[10];
    size_t n_notes, n_apis, n_problems;
    char last_data[20], kind[20], dtype[20];
};

static void take_text(char *out, size_t size, const struct tc_value *value)
{
    const struct tc_str text = tc_value_str(value);

    if (text.text)
        snprintf(out, size, "%.*s", (int)text.size, text.text);
}

static void see(struct seen *seen, const struct tc_record *record)
{
    if (record->type == TC_RECORD_STEP)
        seen->has_step[record->step] = true;
    seen->n_apis += record->type == TC_RECORD_API;
    if (record->type == TC_RECORD_NOTE && seen->n_notes < 10) {
        snprintf(seen->notes[seen->n_notes], 100, "%.*s", (int)record->text.size,
                 record->text.text);
        seen->counts[seen->n_notes++] = record->count;
    }
    if (record->type == TC_RECORD_VAR && record->var == 8) {
        take_text(seen->last_data, 20, tc_value_get(record->attrs, "data"));
        take_text(seen->dtype, 20, tc_value_get(record->attrs, "dtype"));
        if (record->kind.text)
            snprintf(seen->kind, 20, "%.*s", (int)record->kind.size, record->kind.text);
    }
}

static void read_trace(const char *path, struct seen *seen)
{
    struct tc_trace_file *file;
    struct tc_notes *notes = tc_notes_new();
    const struct tc_record *record;
    struct tc_error err;

    memset(seen, 0, sizeof(*seen));
    assert_int_equal(tc_trace_file_open(path, notes, &file, &err), TC_OK);
    while (tc_trace_file_next(file, &record, &err) == TC_OK)
        see(seen, record);
    seen->n_problems = tc_notes_count(notes);
    tc_trace_file_close(file);
    tc_notes_free(notes);
}

static size_t count_steps(const struct seen *seen, int from, int until)
{
    size_t n = 0;

    for (int step = from; step < until; step++)
        n += seen->has_step[step];
    return n;
}

static void steps_go_and_what_rests_on_them_stays(void **state)
{
    char *folder = unit_folder(), *path = write_trace(folder);
    const uint64_t before = disk(path);
    struct tc_trim *trimmer;
    struct tc_error err;
    struct seen seen;

    (void)state;
    assert_int_equal(tc_trim_open(path, 1 << 20, &trimmer, &err), TC_OK);
    assert_true(trim(trimmer, (struct wish){200, 350}, UINT64_MAX) > before / 2);
    tc_trim_close(trimmer);
    assert_true(disk(path) < before / 3);
    read_trace(path, &seen);
    assert_int_equal(seen.n_problems, 0);
    assert_int_equal(count_steps(&seen, 0, 2), 2); /* the head */
    assert_int_equal(count_steps(&seen, 2, 190), 0);
    assert_int_equal(count_steps(&seen, 190, 211), 21); /* around the finding */
    assert_int_equal(count_steps(&seen, 211, 350), 0);
    assert_int_equal(count_steps(&seen, 350, N_STEPS), N_STEPS - 350);
    assert_int_equal(seen.n_notes, 2);
    assert_string_equal(seen.notes[0],
                        "records of steps 2 to 189 were deleted to keep the trace short");
    assert_string_equal(seen.notes[1],
                        "records of steps 211 to 349 were deleted to keep the trace short");
    assert_int_equal(seen.counts[0], 188);
    assert_int_equal(seen.counts[1], 139);
    assert_int_equal(seen.n_apis, 1);
    assert_string_equal(seen.kind, "Parameter");
    assert_string_equal(seen.dtype, "float32");
    free(path);
    unit_remove(folder);
}

/* Bit by bit, and by a trimmer that does not know what another one has done. */
static void regions_grow(void **state)
{
    char *folder = unit_folder(), *path = write_trace(folder);
    struct tc_trim *trimmer;
    struct tc_error err;
    struct seen seen;

    (void)state;
    for (int64_t from = 20; from <= 300; from += 40) {
        if (from % 80 == 20)
            assert_int_equal(tc_trim_open(path, 1 << 20, &trimmer, &err), TC_OK);
        trim(trimmer, (struct wish){-100, from}, UINT64_MAX);
        read_trace(path, &seen);
        assert_int_equal(seen.n_problems, 0);
        assert_int_equal(seen.n_notes, 1);
        assert_int_equal(seen.counts[0], from - 2);
        assert_int_equal(count_steps(&seen, 0, N_STEPS), N_STEPS - (from - 2));
        assert_int_equal(count_steps(&seen, (int)from, N_STEPS), N_STEPS - from);
        if (from % 80 == 60)
            tc_trim_close(trimmer);
    }
    assert_string_equal(seen.last_data, "0399");
    free(path);
    unit_remove(folder);
}

static void no_more_goes_than_asked_for(void **state)
{
    char *folder = unit_folder(), *path = write_trace(folder);
    const uint64_t before = disk(path);
    struct tc_trim *trimmer;
    struct tc_error err;
    struct seen seen;

    (void)state;
    assert_int_equal(tc_trim_open(path, 1 << 20, &trimmer, &err), TC_OK);
    for (int i = 0; i < 3; i++) {
        const uint64_t freed = trim(trimmer, (struct wish){-100, INT64_MAX}, before / 8);
        assert_true(freed >= before / 10 && freed < before / 4);
    }
    tc_trim_close(trimmer);
    read_trace(path, &seen);
    assert_int_equal(seen.n_problems, 0);
    assert_true(count_steps(&seen, N_STEPS / 2, N_STEPS) == N_STEPS / 2);
    free(path);
    unit_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_go_and_what_rests_on_them_stays),
        cmocka_unit_test(regions_grow),
        cmocka_unit_test(no_more_goes_than_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
