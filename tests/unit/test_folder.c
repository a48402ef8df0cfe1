/*
 * test_folder.c - the files of a trace merged by time
 */
#include "trace_make.h"

#define N_FILES 9

static char *dir;
static struct tc_notes *notes;

static int setup(void **state)
{
    (void)state;
    dir = unit_folder();
    notes = tc_notes_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_notes_free(notes);
    unit_remove(dir);
    return 0;
}

static char *path_of(size_t i)
{
    char name[64];

    snprintf(name, sizeof(name), i % 2 ? "trace_h_r%zu.jsonl" : "trace_h_r%zu.jsonl.zst", i);
    return tc_fs_join(dir, name);
}

static void put_text(const char *path, const struct tc_strbuf *text)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;

    if (strstr(path, ".zst"))
        make_frame(&bytes, text->text, text->size);
    else
        tc_strbuf_add(&bytes, text->text, text->size);
    put_file(path, bytes.text, bytes.size);
    tc_strbuf_release(&bytes);
}

static struct tc_trace_folder *open_folder(const char *path)
{
    struct tc_trace_folder *folder;
    struct tc_error err = {TC_OK, ""};

    if (tc_trace_folder_open(path, notes, &folder, &err) != TC_OK)
        fail_msg("%s", err.text);
    return folder;
}

/* Times of each file rise, but for the few that go back: those stay where they are. */
static void records_come_in_order_of_time(void **state)
{
    struct tc_trace_folder *folder;
    const struct tc_record *record;
    struct tc_error err;
    int64_t steps[N_FILES] = {0}, last = 0, expected = 0;
    uint64_t seed = 4;
    size_t i, n = 0, last_file = 0;

    (void)state;
    for (i = 0; i < N_FILES; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        char *path = path_of(i);
        int64_t t = 0;

        make_process(&text, (int64_t)(1700000000000000000 + unit_random(&seed) % 50));
        for (int64_t step = 0; step < 300; step++) {
            t += (int64_t)(unit_random(&seed) % 4);
            make_step(&text, step, t);
        }
        put_text(path, &text);
        tc_strbuf_release(&text);
        free(path);
    }
    folder = open_folder(dir);
    assert_int_equal(tc_trace_folder_n_files(folder), N_FILES);
    while (tc_trace_folder_next(folder, &i, &record, &err) == TC_OK) {
        struct tc_trace_file *file = tc_trace_folder_file(folder, i);
        const struct tc_record *process = tc_trace_file_process(file);
        int64_t now = tc_value_int(tc_value_get(process->object, "unix_ns"), 0) + record->t;

        assert_true(now > last || (now == last && i >= last_file));
        assert_int_equal(record->step, steps[i]++);
        last = now;
        last_file = i;
        n++;
    }
    assert_int_equal(n, N_FILES * 300);
    for (i = 0; i < N_FILES; i++)
        expected += steps[i];
    assert_int_equal(expected, n);
    tc_trace_folder_close(folder);
    tc_trace_folder_close(NULL);
}

/* What (file, step) come in which order. */
static void check_order(struct tc_trace_folder *folder, const int (*want)[2], size_t n)
{
    const struct tc_record *record;
    struct tc_error err;
    size_t i;

    for (size_t k = 0; k < n; k++) {
        assert_int_equal(tc_trace_folder_next(folder, &i, &record, &err), TC_OK);
        assert_int_equal(i, want[k][0]);
        assert_int_equal(record->type == TC_RECORD_STEP ? record->step : -1, want[k][1]);
    }
    assert_int_equal(tc_trace_folder_next(folder, &i, &record, &err), TC_END);
}

static void the_order_of_a_file_survives_its_clock(void **state)
{
    static const int want[][2] = {
        {0, 1 },
        {1, 1 },
        {1, 2 },
        {0, 2 },
        {0, 3 },
        {0, -1},
        {0, 4 },
        {1, 3 }
    };
    struct tc_strbuf a = TC_STRBUF_INIT, b = TC_STRBUF_INIT;
    char *path_a = tc_fs_join(dir, "trace_a.jsonl"), *path_b = tc_fs_join(dir, "trace_b.jsonl");
    struct tc_trace_folder *folder;

    (void)state;
    make_process(&a, 100);
    make_step(&a, 1, 10);
    make_step(&a, 2, 50);
    make_step(&a, 3, 5); /* back in time */
    tc_strbuf_adds(&a, "{\"type\":\"api\",\"fn\":\"f\",\"role\":\"function\"}\n"); /* without t */
    make_step(&a, 4, 60);
    make_process(&b, 90);
    make_step(&b, 1, 20); /* at the same time as the first of a */
    make_step(&b, 2, 30);
    make_step(&b, 3, 70); /* at the same time as the last of a */
    put_text(path_a, &a);
    put_text(path_b, &b);
    folder = open_folder(dir);
    check_order(folder, want, N_OF(want));
    /* Both files go on. */
    tc_strbuf_reset(&a);
    make_step(&a, 5, 100);
    append_file(path_a, a.text, a.size);
    tc_strbuf_reset(&b);
    make_step(&b, 4, 90);
    append_file(path_b, b.text, b.size);
    check_order(folder,
                (const int[][2]){
                    {1, 4},
                    {0, 5}
    },
                2);
    tc_trace_folder_close(folder);
    tc_strbuf_release(&a);
    tc_strbuf_release(&b);
    free(path_a);
    free(path_b);
}

static void foreign_files_are_noted(void **state)
{
    static const char *const names[] = {"trace_a.jsonl", "trace_b.jsonl", "other.jsonl",
                                        "trace_c.json",  "summary.json",  "trace_d.jsonl.zst"};
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_trace_folder *folder;
    char *path;

    (void)state;
    for (size_t i = 0; i < N_OF(names); i++) {
        path = tc_fs_join(dir, names[i]);
        put_file(path, "hello\n", 6);
        free(path);
    }
    make_process(&text, 0);
    path = tc_fs_join(dir, "trace_e.jsonl");
    put_text(path, &text);
    folder = open_folder(dir);
    assert_int_equal(tc_trace_folder_n_files(folder), 1);
    assert_string_equal(tc_trace_file_name(tc_trace_folder_file(folder, 0)), "trace_e.jsonl");
    assert_int_equal(tc_notes_count(notes), 3);
    assert_string_equal(tc_notes_get(notes, 0)->code, "not-a-trace");
    assert_string_equal(tc_notes_get(notes, 0)->file, "trace_a.jsonl");
    assert_string_equal(tc_notes_get(notes, 2)->file, "trace_d.jsonl.zst");
    tc_trace_folder_close(folder);
    folder = open_folder(path); /* a file by its path, whatever else is there */
    assert_int_equal(tc_trace_folder_n_files(folder), 1);
    tc_trace_folder_close(folder);
    tc_strbuf_release(&text);
    free(path);
}

static void nothing_to_read_is_said_so(void **state)
{
    char *none = tc_fs_join(dir, "none"), *file = tc_fs_join(dir, "trace_a.jsonl");
    struct tc_trace_folder *folder;
    struct tc_error err;

    (void)state;
    assert_int_equal(tc_trace_folder_open(none, notes, &folder, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.text, none));
    assert_int_equal(tc_trace_folder_open(dir, notes, &folder, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.text, "trace_*.jsonl.zst"));
    assert_non_null(strstr(err.text, dir));
    put_file(file, "hello\n", 6);
    assert_int_equal(tc_trace_folder_open(dir, notes, &folder, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.text, "trace_a.jsonl: not a trace"));
    assert_int_equal(tc_trace_folder_open(file, notes, &folder, &err), TC_E_NOTFOUND);
    assert_null(folder);
    free(none);
    free(file);
}

static void a_newer_schema_is_an_error_at_once(void **state)
{
    static const char newer[] = "{\"type\":\"process\",\"schema\":7}\n";
    struct tc_strbuf text = TC_STRBUF_INIT;
    char *good = tc_fs_join(dir, "trace_a.jsonl"), *bad = tc_fs_join(dir, "trace_b.jsonl");
    struct tc_trace_folder *folder;
    struct tc_error err;

    (void)state;
    make_process(&text, 0);
    put_text(good, &text);
    put_file(bad, newer, sizeof(newer) - 1);
    assert_int_equal(tc_trace_folder_open(dir, notes, &folder, &err), TC_E_VERSION);
    assert_non_null(strstr(err.text, "trace_b.jsonl"));
    assert_non_null(strstr(err.text, "7"));
    tc_strbuf_release(&text);
    free(good);
    free(bad);
}

static void times_beyond_int64_do_no_harm(void **state)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    char *path = tc_fs_join(dir, "trace_a.jsonl");
    struct tc_trace_folder *folder;

    (void)state;
    make_process(&text, INT64_MAX);
    make_step(&text, 1, INT64_MAX);
    make_step(&text, 2, INT64_MIN + 1);
    put_text(path, &text);
    folder = open_folder(dir);
    check_order(folder,
                (const int[][2]){
                    {0, 1},
                    {0, 2}
    },
                2);
    tc_trace_folder_close(folder);
    tc_strbuf_release(&text);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_come_in_order_of_time, setup, teardown),
        cmocka_unit_test_setup_teardown(the_order_of_a_file_survives_its_clock, setup, teardown),
        cmocka_unit_test_setup_teardown(foreign_files_are_noted, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_to_read_is_said_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newer_schema_is_an_error_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(times_beyond_int64_do_no_harm, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
