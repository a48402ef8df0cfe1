/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_folder.c - the files of a trace read in turns, finished and growing
 */
#include "trace_make.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/batch.h"
#include "trace/lag.h"
#include "trace/turns.h"

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

#define STEPS 4000 /* in each file, several reads long */

/* The files move on together: none is more than a turn ahead of the one that is behind. */
static void files_are_read_in_turns(void **state)
{
    struct tc_trace_folder *folder;
    const struct tc_record *record;
    struct tc_error err;
    int64_t steps[N_FILES] = {0}, most = 0;
    size_t i, n = 0;

    (void)state;
    for (i = 0; i < N_FILES; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT, bytes = TC_STRBUF_INIT;
        char *path = path_of(i);

        make_process(&text, 1700000000000000000 + (int64_t)i);
        for (int64_t step = 0; step < STEPS; step++) {
            make_step(&text, step, step);
            if (step % 100 != 99)
                continue;
            if (i % 2)
                tc_strbuf_add(&bytes, text.text, text.size);
            else
                make_frame(&bytes, text.text, text.size);
            tc_strbuf_reset(&text);
        }
        put_file(path, bytes.text, bytes.size);
        tc_strbuf_release(&text);
        tc_strbuf_release(&bytes);
        free(path);
    }
    folder = open_folder(dir);
    assert_int_equal(tc_trace_folder_n_files(folder), N_FILES);
    while (tc_trace_folder_next(folder, &i, &record, &err) == TC_OK) {
        int64_t least = steps[0];

        assert_int_equal(record->step, steps[i]++);
        for (size_t k = 1; k < N_FILES; k++)
            least = steps[k] < least ? steps[k] : least;
        most = steps[i] - least > most ? steps[i] - least : most;
        n++;
    }
    assert_int_equal(n, N_FILES * STEPS);
    assert_true(most < STEPS);
    tc_trace_folder_close(folder);
    tc_trace_folder_close(NULL);
}

/* Few descriptors at a time, whatever the number of files. */
static void a_thousand_files_need_few_descriptors(void **state)
{
    struct rlimit before, few = {64, 64};
    struct tc_trace_folder *folder;
    const struct tc_record *record;
    struct tc_error err;
    size_t i, n = 0;

    (void)state;
    for (i = 0; i < 1000; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        char name[64], *path;

        snprintf(name, sizeof(name), "trace_h_r%zu.jsonl.zst", i);
        path = tc_fs_join(dir, name);
        make_process(&text, 1700000000000000000);
        for (int64_t step = 0; step < 3; step++)
            make_step(&text, step, step);
        put_text(path, &text);
        tc_strbuf_release(&text);
        free(path);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    folder = open_folder(dir);
    while (tc_trace_folder_next(folder, &i, &record, &err) == TC_OK)
        n++;
    tc_trace_folder_close(folder);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(n, 3000);
    assert_int_equal(tc_notes_count(notes), 0);
}

/* By step, then time, then the order of the members, in whatever order they came. */
static void who_waits_has_its_turn_in_order(void **state)
{
    enum {
        N = 1000
    };
    static bool is_seen[N];
    struct tc_turns turns = {0};
    struct tc_turn last = {-1, 0, 0};
    size_t n = 0;

    (void)state;
    memset(is_seen, 0, sizeof(is_seen));
    for (size_t i = 0; i < N; i++) {
        size_t member = i * 617 % N;

        tc_turns_push(&turns,
                      (struct tc_turn){(int64_t)(member % 7), (int64_t)(member % 31) - 9, member});
    }
    for (const struct tc_turn *first; (first = tc_turns_first(&turns)); tc_turns_pop(&turns), n++) {
        bool is_later = first->step != last.step         ? first->step > last.step
                        : first->time_ns != last.time_ns ? first->time_ns > last.time_ns
                                                         : first->member > last.member;

        assert_true(is_later);
        assert_false(is_seen[first->member]);
        is_seen[first->member] = true;
        last = *first;
    }
    assert_int_equal(n, N);
    tc_turns_release(&turns);
}

/* All records of a batch live together, and are those that would come one by one. */
static void batches_hold_what_comes_one_by_one(void **state)
{
    struct tc_batch batch = {.status = TC_OK};
    struct tc_trace_folder *folder, *other;
    const struct tc_record *record;
    struct tc_error err;
    size_t i, n = 0, n_batches = 0;

    (void)state;
    for (i = 0; i < 3; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        char *path = path_of(i);

        make_process(&text, 1700000000000000000);
        for (int64_t step = 0; step < 2000; step++)
            make_step(&text, step, step);
        tc_strbuf_adds(&text, "no record\n");
        put_text(path, &text);
        tc_strbuf_release(&text);
        free(path);
    }
    folder = open_folder(dir);
    other = open_folder(dir);
    for (; !batch.status; n_batches++) {
        tc_batch_read(&batch, folder);
        for (size_t k = 0; k < batch.items.n; k++, n++) {
            assert_int_equal(tc_trace_folder_next(other, &i, &record, &err), TC_OK);
            assert_int_equal(batch.items.items[k].file, i);
            assert_int_equal(batch.items.items[k].record->step, record->step);
            assert_int_equal(batch.items.items[k].record->line, record->line);
            assert_true(tc_str_same(batch.items.items[k].record->why, record->why));
        }
    }
    assert_int_equal(batch.status, TC_END);
    assert_int_equal(tc_trace_folder_next(other, &i, &record, &err), TC_END);
    assert_int_equal(n, 6000);
    assert_true(n_batches > 2);
    assert_int_equal(batch.json_bytes, tc_trace_folder_json_bytes(other));
    tc_batch_release(&batch);
    tc_trace_folder_close(folder);
    tc_trace_folder_close(other);
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

static size_t refresh(struct tc_trace_folder *folder)
{
    struct tc_error err;
    size_t n_grown;

    assert_int_equal(tc_trace_folder_refresh(folder, &n_grown, &err), TC_OK);
    return n_grown;
}

/* A frame that comes in three pieces, a second file, a line without its end. */
static void a_folder_grows(void **state)
{
    struct tc_strbuf a = TC_STRBUF_INIT, b = TC_STRBUF_INIT, frame = TC_STRBUF_INIT;
    char *path_a = tc_fs_join(dir, "sub/trace_a.jsonl.zst"), *sub = tc_fs_join(dir, "sub"),
         *path_b = tc_fs_join(dir, "sub/trace_b.jsonl");
    struct tc_trace_folder *folder = tc_trace_folder_watch(sub, notes);
    struct tc_error err;
    size_t n_grown;

    (void)state;
    assert_int_equal(tc_trace_folder_refresh(folder, &n_grown, &err), TC_E_NOTFOUND);
    assert_int_equal(tc_fs_mkdirs(sub, NULL), TC_OK);
    assert_int_equal(refresh(folder), 0);
    make_process(&a, 100);
    make_step(&a, 0, 10);
    make_frame(&frame, a.text, a.size);
    put_file(path_a, frame.text, 0);
    assert_int_equal(refresh(folder), 0);
    append_file(path_a, frame.text, 3);
    assert_int_equal(refresh(folder), 0);
    append_file(path_a, frame.text + 3, frame.size - 5);
    assert_int_equal(refresh(folder), 0);
    check_order(folder, NULL, 0);
    append_file(path_a, frame.text + frame.size - 2, 2);
    assert_int_equal(refresh(folder), 1);
    assert_int_equal(tc_trace_folder_n_files(folder), 1);
    check_order(folder,
                (const int[][2]){
                    {0, 0}
    },
                1);
    assert_int_equal(refresh(folder), 0);
    /* A second file, whose last line lacks its newline. */
    make_process(&b, 90);
    make_step(&b, 0, 10);
    make_step(&b, 1, 20);
    put_file(path_b, b.text, b.size - 4);
    assert_int_equal(refresh(folder), 1);
    check_order(folder,
                (const int[][2]){
                    {1, 0}
    },
                1);
    assert_string_equal(tc_notes_get(notes, 0)->code, "torn-tail");
    append_file(path_b, b.text + b.size - 4, 4);
    assert_int_equal(refresh(folder), 1);
    check_order(folder,
                (const int[][2]){
                    {1, 1}
    },
                1);
    assert_int_equal(tc_notes_count(notes), 0);
    tc_trace_folder_close(folder);
    tc_strbuf_release(&a);
    tc_strbuf_release(&b);
    tc_strbuf_release(&frame);
    free(path_a);
    free(path_b);
    free(sub);
}

/* The limit keeps a file from running ahead. */
static void a_limit_holds_files_back(void **state)
{
    struct tc_strbuf a = TC_STRBUF_INIT, b = TC_STRBUF_INIT;
    char *path_a = tc_fs_join(dir, "trace_a.jsonl"), *path_b = tc_fs_join(dir, "trace_b.jsonl");
    struct tc_trace_folder *folder = tc_trace_folder_watch(dir, notes);

    (void)state;
    make_process(&a, 100);
    make_step(&a, 3, 10);
    make_process(&b, 100);
    make_step(&b, 0, 10);
    put_text(path_a, &a);
    put_text(path_b, &b);
    assert_int_equal(refresh(folder), 2);
    check_order(folder,
                (const int[][2]){
                    {0, 3},
                    {1, 0}
    },
                2);
    tc_strbuf_reset(&a);
    make_step(&a, 4, 20);
    append_file(path_a, a.text, a.size);
    assert_int_equal(refresh(folder), 1);
    tc_trace_folder_limit(folder, 1);
    check_order(folder, NULL, 0);
    tc_trace_folder_limit(folder, INT64_MAX);
    check_order(folder,
                (const int[][2]){
                    {0, 4}
    },
                1);
    tc_trace_folder_close(folder);
    tc_strbuf_release(&a);
    tc_strbuf_release(&b);
    free(path_a);
    free(path_b);
}

/* A turn that would find nothing is not had: with thousands of files each opens one. What was
 * written since the look is read all the same. */
static void who_was_read_to_its_end_has_no_further_turn(void **state)
{
    struct tc_strbuf a = TC_STRBUF_INIT, b = TC_STRBUF_INIT;
    char *path_a = tc_fs_join(dir, "trace_a.jsonl.zst"), *path_b = tc_fs_join(dir, "trace_b.jsonl");
    struct tc_trace_folder *folder = tc_trace_folder_watch(dir, notes);
    const struct tc_record *record;
    struct tc_error err;
    size_t i;

    (void)state;
    make_process(&a, 100);
    make_step(&a, 0, 10);
    make_process(&b, 200);
    make_step(&b, 0, 10);
    put_text(path_a, &a);
    put_text(path_b, &b);
    assert_int_equal(refresh(folder), 2);
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(tc_trace_folder_next(folder, &i, &record, &err), TC_OK);
        assert_int_equal(i, k);
    }
    assert_true(tc_trace_folder_progress(folder, 0).is_dry);
    tc_strbuf_reset(&b);
    make_step(&b, 1, 20);
    append_file(path_b, b.text, b.size);
    check_order(folder, NULL, 0);
    assert_int_equal(refresh(folder), 1);
    assert_false(tc_trace_folder_progress(folder, 1).is_dry);
    check_order(folder,
                (const int[][2]){
                    {1, 1}
    },
                1);
    tc_trace_folder_close(folder);
    tc_strbuf_release(&a);
    tc_strbuf_release(&b);
    free(path_a);
    free(path_b);
}

static void set_changed(const char *path, int64_t ns)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        { ns / 1000000000,      ns % 1000000000}
    };

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* From the last record read to when the file was last written; of the file that is most behind. */
static void what_is_not_read_is_a_lag(void **state)
{
    const int64_t began = INT64_C(1700000000000000000), second = 1000000000;
    struct tc_strbuf a = TC_STRBUF_INIT, b = TC_STRBUF_INIT;
    char *path_a = tc_fs_join(dir, "trace_a.jsonl"), *path_b = tc_fs_join(dir, "trace_b.jsonl");
    struct tc_trace_folder *folder = tc_trace_folder_watch(dir, notes);

    (void)state;
    make_process(&a, began);
    make_step(&a, 0, 2 * second);
    make_process(&b, 0); /* its clock is not known */
    make_step(&b, 0, second);
    put_text(path_a, &a);
    put_text(path_b, &b);
    set_changed(path_a, began + 3 * second);
    assert_int_equal(tc_trace_folder_lag_ns(folder), 0);
    assert_int_equal(refresh(folder), 2);
    assert_int_equal(tc_trace_folder_lag_ns(folder), 3 * second);
    check_order(folder,
                (const int[][2]){
                    {1, 0},
                    {0, 0}
    },
                2);
    assert_int_equal(tc_trace_folder_lag_ns(folder), 0);
    append_file(path_a, a.text + a.size - 1, 1); /* an empty line */
    set_changed(path_a, began + 9 * second);
    assert_int_equal(tc_trace_folder_lag_ns(folder), 0);
    assert_int_equal(refresh(folder), 1);
    assert_int_equal(tc_trace_folder_lag_ns(folder), 7 * second);
    check_order(folder, NULL, 0);
    assert_int_equal(tc_trace_folder_lag_ns(folder), 0);
    append_file(path_a, a.text + a.size - 1, 1);
    set_changed(path_a, began + second); /* by a clock that is behind */
    assert_int_equal(refresh(folder), 1);
    assert_int_equal(tc_trace_folder_lag_ns(folder), 0);
    tc_trace_folder_close(folder);
    tc_strbuf_release(&a);
    tc_strbuf_release(&b);
    free(path_a);
    free(path_b);
}

/* What is no trace yet is noted only when nothing more will come. */
static void the_end_of_a_folder_is_as_that_of_a_finished_one(void **state)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    char *path_a = tc_fs_join(dir, "trace_a.jsonl"), *path_b = tc_fs_join(dir, "trace_b.jsonl");
    struct tc_trace_folder *folder = tc_trace_folder_watch(dir, notes);

    (void)state;
    make_process(&text, 100);
    put_file(path_a, text.text, text.size - 1);
    put_file(path_b, "hello\n", 6);
    assert_int_equal(refresh(folder), 0);
    assert_int_equal(tc_notes_count(notes), 0);
    tc_trace_folder_finish(folder);
    assert_int_equal(tc_trace_folder_n_files(folder), 1);
    assert_int_equal(tc_notes_count(notes), 1);
    assert_string_equal(tc_notes_get(notes, 0)->code, "not-a-trace");
    tc_trace_folder_close(folder);
    tc_strbuf_release(&text);
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

static void a_folder_that_may_not_be_searched_is_said_so(void **state)
{
    char *above = tc_fs_join(dir, "closed"), *path = tc_fs_join(above, "run");
    struct tc_trace_folder *folder;
    struct tc_error err;
    uid_t user = geteuid();

    (void)state;
    assert_int_equal(mkdir(above, 0700), 0);
    assert_int_equal(chmod(above, 0), 0);
    if (user == 0) /* may search any folder */
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(tc_trace_folder_open(path, notes, &folder, &err), TC_E_IO);
    assert_non_null(strstr(err.text, "Permission denied"));
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(rmdir(above), 0);
    free(path);
    free(above);
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
        cmocka_unit_test_setup_teardown(files_are_read_in_turns, setup, teardown),
        cmocka_unit_test(who_waits_has_its_turn_in_order),
        cmocka_unit_test_setup_teardown(a_thousand_files_need_few_descriptors, setup, teardown),
        cmocka_unit_test_setup_teardown(batches_hold_what_comes_one_by_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_grows, setup, teardown),
        cmocka_unit_test_setup_teardown(a_limit_holds_files_back, setup, teardown),
        cmocka_unit_test_setup_teardown(who_was_read_to_its_end_has_no_further_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_not_read_is_a_lag, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_a_folder_is_as_that_of_a_finished_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(foreign_files_are_noted, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_to_read_is_said_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_may_not_be_searched_is_said_so, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_newer_schema_is_an_error_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(times_beyond_int64_do_no_harm, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
