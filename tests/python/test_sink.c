/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sink.c - lines reach the file in order, whatever is held and relabelled
 */
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "base/fs.h"
#include "base/strbuf.h"
#include "collect/agent/say/shorthand.h"
#include "collect/agent/say/sink.h"
#include "trace/zio.h"

static char *folder, *path;

static int setup(void **state)
{
    (void)state;
    folder = unit_folder();
    path = tc_fs_join(folder, "trace_x.jsonl.zst");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(path);
    unit_remove(folder);
    return 0;
}

static void open_sink(uint64_t limit, bool drop)
{
    struct tc_sink_config config = {.limit = limit, .drop = drop};

    assert_int_equal(tc_sink_open(path, &config, NULL), TC_OK);
}

static void put(const char *line)
{
    const char *digits = strstr(line, "\"step\":");

    tc_sink_put(line, strlen(line), digits ? (size_t)(digits - line) + 7 : 0);
}

/* Everything in the file, decoded. */
static void read_back(struct tc_strbuf *out)
{
    struct tc_strbuf raw = TC_STRBUF_INIT;
    struct tc_zio *zio = tc_zio_new();
    size_t at = 0, used;

    assert_int_equal(tc_fs_read(path, TC_FS_MAX_LARGE, &raw, NULL), TC_OK);
    while (at < raw.size) {
        assert_int_equal(tc_zio_unpack(zio, raw.text + at, raw.size - at, out, &used, NULL), TC_OK);
        at += used;
    }
    tc_zio_free(zio);
    tc_strbuf_release(&raw);
}

static void assert_file(const char *text)
{
    struct tc_strbuf found = TC_STRBUF_INIT;

    read_back(&found);
    assert_string_equal(found.text, text);
    tc_strbuf_release(&found);
}

static void assert_last_line(const char *line, size_t n_lines)
{
    struct tc_strbuf found = TC_STRBUF_INIT;
    size_t n = 0;

    read_back(&found);
    for (size_t i = 0; i < found.size; i++)
        n += found.text[i] == '\n';
    assert_int_equal(n, n_lines);
    assert_string_equal(found.text + found.size - strlen(line), line);
    tc_strbuf_release(&found);
}

static void held_lines_stand_after_what_releases_them(void **state)
{
    (void)state;
    open_sink(1 << 20, false);
    put("{\"a\":1}\n");
    tc_sink_hold();
    put("{\"step\":8}\n");
    tc_sink_release("{\"cut\":7}\n", 10);
    put("{\"b\":2}\n");
    tc_sink_close();
    assert_file("{\"a\":1}\n{\"cut\":7}\n{\"step\":8}\n{\"b\":2}\n");
}

static void held_lines_can_get_another_step(void **state)
{
    (void)state;
    open_sink(1 << 20, false);
    tc_sink_hold();
    put("{\"x\":1,\"step\":10,\"y\":2}\n");
    put("{\"z\":3}\n");
    tc_sink_relabel(9);
    tc_sink_release(NULL, 0);
    tc_sink_close();
    assert_file("{\"x\":1,\"step\":9 ,\"y\":2}\n{\"z\":3}\n");
}

/* With numbers whose bytes end a line, mark a number, or are zero. */
static void put_in_shorthand(int64_t step)
{
    static const int64_t numbers[] = {0,  '\n',      TC_SHORTHAND_MARK, 0x0a01000a,
                                      -1, INT64_MAX, INT64_MIN};
    struct tc_strbuf line = TC_STRBUF_INIT;
    size_t step_at;

    tc_strbuf_adds(&line, "{\"n\":[");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        tc_shorthand_add_int(&line, numbers[i]);
        tc_strbuf_addc(&line, ',');
    }
    tc_strbuf_adds(&line, "7],\"step\":");
    step_at = line.size;
    tc_strbuf_add_int(&line, step);
    tc_strbuf_adds(&line, ",\"m\":");
    tc_shorthand_add_int(&line, 10);
    tc_strbuf_adds(&line, "}\n");
    tc_sink_put(line.text, line.size, step_at);
    tc_strbuf_release(&line);
}

#define NUMBERS "{\"n\":[0,10,1,167837706,-1,9223372036854775807,-9223372036854775808,7],"

static void numbers_in_shorthand_have_their_digits_in_the_file(void **state)
{
    (void)state;
    open_sink(1 << 20, false);
    put_in_shorthand(3);
    put("{\"z\":3}\n");
    tc_sink_hold();
    put_in_shorthand(14);
    tc_sink_relabel(5);
    tc_sink_release(NULL, 0);
    tc_sink_close();
    assert_file(NUMBERS "\"step\":3,\"m\":10}\n{\"z\":3}\n" NUMBERS "\"step\":5 ,\"m\":10}\n");
}

static void many_lines_in_shorthand_are_written_one_after_the_other(void **state)
{
    struct tc_strbuf expected = TC_STRBUF_INIT;

    (void)state;
    open_sink(1 << 20, false);
    tc_sink_pause(); /* all are fetched at once */
    for (int i = 0; i < 20000; i++) {
        put_in_shorthand(i);
        tc_strbuf_addf(&expected, NUMBERS "\"step\":%d,\"m\":10}\n", i);
    }
    tc_sink_resume();
    tc_sink_close();
    assert_file(expected.text);
    tc_strbuf_release(&expected);
}

static void a_flush_brings_lines_to_the_file(void **state)
{
    (void)state;
    open_sink(1 << 20, false);
    put("{\"a\":1}\n");
    tc_sink_flush();
    assert_file("{\"a\":1}\n");
    tc_sink_close();
}

static void the_first_line_is_in_the_file_at_once(void **state)
{
    const struct timespec before_others_are_written = {.tv_nsec = 300000000};

    (void)state;
    open_sink(1024, false);
    put("{\"a\":1}\n");
    nanosleep(&before_others_are_written, NULL);
    assert_file("{\"a\":1}\n");
    tc_sink_close();
}

static void after_a_pause_lines_go_on(void **state)
{
    (void)state;
    open_sink(64, false);
    for (int i = 0; i < 100; i++) {
        put("{\"a\":\"0123456789012345678901234567890123456789\"}\n");
        if (i % 10 == 0)
            tc_sink_pause();
        if (i % 10 == 3)
            tc_sink_resume();
    }
    tc_sink_pause();
    tc_sink_pause(); /* of what is at rest already */
    tc_sink_resume();
    put("{\"b\":1}\n");
    tc_sink_flush();
    assert_last_line("{\"b\":1}\n", 101);
    tc_sink_close();
}

static void nothing_is_lost_when_the_buffer_is_small(void **state)
{
    struct tc_sink_stats stats;

    (void)state;
    open_sink(64, false);
    for (int i = 0; i < 200; i++)
        put("{\"a\":\"0123456789012345678901234567890123456789\"}\n");
    tc_sink_close();
    tc_sink_stats(&stats);
    assert_int_equal(stats.dropped, 0);
    assert_int_equal(stats.records, 200);
}

static void what_is_dropped_is_counted(void **state)
{
    struct tc_sink_stats stats;
    struct tc_strbuf text = TC_STRBUF_INIT;
    unsigned n_notes = 0;

    (void)state;
    open_sink(64, true);
    for (int i = 0; i < 1000; i++)
        put("{\"a\":\"0123456789012345678901234567890123456789\"}\n");
    tc_sink_close();
    tc_sink_stats(&stats);
    read_back(&text);
    for (const char *p = text.text; (p = strstr(p, "\"code\":\"lost\"")); p++)
        n_notes++;
    assert_true(n_notes > 0);
    assert_int_equal(stats.records + stats.dropped, 1000 + n_notes);
    assert_int_equal(stats.file_records, stats.records);
    assert_true(stats.dropped > 0);
    tc_strbuf_release(&text);
}

static void an_existing_file_is_refused(void **state)
{
    struct tc_sink_config config = {.limit = 1 << 20};

    (void)state;
    assert_int_equal(tc_fs_write(path, "x", 1, NULL), TC_OK);
    assert_int_not_equal(tc_sink_open(path, &config, NULL), TC_OK);
    assert_false(tc_sink_is_open());
}

/* A file that may not grow stands for a full disk. */
static void what_a_lasting_failure_loses_is_told_by_its_steps(void **state)
{
    const struct rlimit whole = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit here = {0, RLIM_INFINITY};
    struct tc_sink_stats stats;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    open_sink(1 << 20, false);
    put("{\"type\":\"step\",\"step\":3}\n");
    put("{\"type\":\"step\",\"step\":4}\n");
    tc_sink_flush();
    tc_sink_stats(&stats);
    here.rlim_cur = stats.file_bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &here), 0);
    put("{\"type\":\"step\",\"step\":5}\n");
    tc_sink_flush();
    put("{\"type\":\"step\",\"step\":9}\n{\"text\":\"\\\"step\\\":77\"}\n");
    tc_sink_close();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
    tc_sink_stats(&stats);
    assert_int_equal(stats.dropped, 2);
    assert_true(stats.has_lost_steps);
    assert_int_equal(stats.first_lost, 4);
    assert_int_equal(stats.last_lost, 9);
}

/* Frames go by age, and lines come all the time: what is fetched last stands in no frame yet. */
static void steps_that_are_in_the_file_are_not_told_as_lost(void **state)
{
    struct rlimit old, none;
    struct timespec pause = {0, 5000000};
    struct tc_sink_stats stats;
    struct tc_strbuf found = TC_STRBUF_INIT;
    char line[32];
    const char *last = NULL;

    (void)state;
    getrlimit(RLIMIT_FSIZE, &old);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN); /* so that the write fails instead */
    open_sink(1 << 20, false);
    for (int step = 0; step < 300; step++) { /* 1.5 s: at least two frames */
        snprintf(line, sizeof(line), "{\"step\":%d}\n", step);
        put(line);
        nanosleep(&pause, NULL);
    }
    setrlimit(RLIMIT_FSIZE, &none);
    tc_sink_close();
    setrlimit(RLIMIT_FSIZE, &old);
    tc_sink_stats(&stats);
    read_back(&found);
    for (const char *p = found.text; (p = strstr(p, ":")); p++)
        last = p + 1;
    assert_non_null(last);
    assert_int_equal(stats.first_lost, strtol(last, NULL, 10));
    assert_int_equal(stats.last_lost, 299);
    assert_int_equal(stats.dropped, 299 - stats.first_lost);
    tc_strbuf_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(held_lines_stand_after_what_releases_them, setup, teardown),
        cmocka_unit_test_setup_teardown(held_lines_can_get_another_step, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_in_shorthand_have_their_digits_in_the_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(many_lines_in_shorthand_are_written_one_after_the_other,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_flush_brings_lines_to_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_line_is_in_the_file_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(after_a_pause_lines_go_on, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_lost_when_the_buffer_is_small, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_dropped_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_lasting_failure_loses_is_told_by_its_steps, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(steps_that_are_in_the_file_are_not_told_as_lost, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_existing_file_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
