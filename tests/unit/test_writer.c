/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer.c - frames bounded by size and age
 */
#include "trace_make.h"

#include <signal.h>
#include <sys/resource.h>

#include "trace/writer.h"

static char *dir, *path;

static int setup(void **state)
{
    (void)state;
    dir = unit_folder();
    path = tc_fs_join(dir, "trace_a.jsonl.zst");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(path);
    unit_remove(dir);
    return 0;
}

static struct tc_writer *open_writer(void)
{
    struct tc_writer *writer;
    struct tc_error err = {TC_OK, ""};

    if (tc_writer_open(path, &writer, &err) != TC_OK)
        fail_msg("%s", err.text);
    return writer;
}

static void add(struct tc_writer *writer, const char *lines, uint64_t now_ns)
{
    assert_int_equal(tc_writer_add(writer, lines, strlen(lines), now_ns, NULL), TC_OK);
}

/* The frames of the file, their text joined in text; the largest one's size in *largest. */
static size_t read_frames(struct tc_strbuf *text, size_t *largest)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_zio *zio = tc_zio_new();
    size_t n = 0, used;

    *largest = 0;
    assert_int_equal(tc_fs_read(path, TC_FS_MAX_LARGE, &bytes, NULL), TC_OK);
    for (size_t at = 0; at < bytes.size; at += used, n++) {
        size_t before = text->size;

        assert_int_equal(tc_zio_unpack(zio, bytes.text + at, bytes.size - at, text, &used, NULL),
                         TC_OK);
        assert_int_equal(text->text[text->size - 1], '\n'); /* whole lines */
        if (text->size - before > *largest)
            *largest = text->size - before;
    }
    tc_zio_free(zio);
    tc_strbuf_release(&bytes);
    return n;
}

static void frames_are_bounded_by_size(void **state)
{
    struct tc_strbuf lines = TC_STRBUF_INIT, back = TC_STRBUF_INIT;
    struct tc_writer *writer = open_writer();
    uint64_t seed = 8;
    size_t largest, n_frames, at = 0;

    (void)state;
    while (lines.size < 5 * TC_FRAME_SIZE) {
        for (uint64_t n = unit_random(&seed) % 300; n; n--)
            tc_strbuf_addc(&lines, (char)('a' + unit_random(&seed) % 26));
        tc_strbuf_addc(&lines, '\n');
    }
    while (at < lines.size) { /* some lines at a time, now and then more than a frame */
        size_t n = (size_t)(unit_random(&seed) % (at ? 5000 : 2 * TC_FRAME_SIZE));
        const char *end;

        if (n >= lines.size - at)
            n = lines.size - at - 1;
        end = memchr(lines.text + at + n, '\n', lines.size - at - n);
        n = (size_t)(end + 1 - (lines.text + at));
        assert_int_equal(tc_writer_add(writer, lines.text + at, n, 0, NULL), TC_OK);
        at += n;
    }
    assert_int_equal(tc_writer_close(writer, NULL), TC_OK);
    n_frames = read_frames(&back, &largest);
    assert_true(n_frames >= 6 && n_frames <= 8);
    assert_true(largest <= TC_FRAME_SIZE);
    assert_true(largest > TC_FRAME_SIZE - 301);
    assert_int_equal(back.size, lines.size);
    assert_memory_equal(back.text, lines.text, lines.size);
    tc_strbuf_release(&lines);
    tc_strbuf_release(&back);
}

static void long_lines_have_their_own_frame(void **state)
{
    struct tc_strbuf line = TC_STRBUF_INIT, back = TC_STRBUF_INIT;
    struct tc_writer *writer = open_writer();
    size_t largest;

    (void)state;
    while (line.size < TC_FRAME_SIZE + 10)
        tc_strbuf_addc(&line, 'x');
    tc_strbuf_addc(&line, '\n');
    add(writer, "a\n", 0);
    add(writer, line.text, 0);
    add(writer, "b\n", 0);
    assert_int_equal(tc_writer_close(writer, NULL), TC_OK);
    assert_int_equal(read_frames(&back, &largest), 3);
    assert_int_equal(largest, line.size);
    assert_int_equal(back.size, line.size + 4);
    tc_strbuf_release(&line);
    tc_strbuf_release(&back);
}

static void frames_are_bounded_by_age(void **state)
{
    struct tc_strbuf back = TC_STRBUF_INIT;
    struct tc_writer *writer = open_writer();
    uint64_t start = 1000, end = start + TC_FRAME_AGE_NS;
    size_t largest;

    (void)state;
    add(writer, "a\n", start);
    assert_int_equal(tc_writer_tick(writer, end - 1, NULL), TC_OK);
    assert_int_equal(tc_writer_file_bytes(writer), 0);
    assert_int_equal(tc_writer_tick(writer, end, NULL), TC_OK);
    assert_true(tc_writer_file_bytes(writer) > 0);
    add(writer, "b\n", end + 5);
    add(writer, "c\n", end + 5 + TC_FRAME_AGE_NS - 1); /* still with b */
    add(writer, "d\n", end + 5 + TC_FRAME_AGE_NS);     /* closes that of b */
    assert_int_equal(read_frames(&back, &largest), 2);
    assert_string_equal(back.text, "a\nb\nc\n");
    assert_int_equal(tc_writer_close(writer, NULL), TC_OK);
    tc_strbuf_reset(&back);
    assert_int_equal(read_frames(&back, &largest), 3);
    assert_string_equal(back.text, "a\nb\nc\nd\n");
    tc_strbuf_release(&back);
}

static void flush_writes_what_there_is(void **state)
{
    struct tc_strbuf back = TC_STRBUF_INIT, bytes = TC_STRBUF_INIT;
    struct tc_writer *writer = open_writer();
    size_t largest;

    (void)state;
    assert_int_equal(tc_writer_flush(writer, NULL), TC_OK);
    assert_int_equal(tc_writer_file_bytes(writer), 0);
    add(writer, "a\n", 0);
    assert_int_equal(tc_writer_flush(writer, NULL), TC_OK);
    assert_int_equal(read_frames(&back, &largest), 1);
    assert_int_equal(tc_fs_read(path, TC_FS_MAX_LARGE, &bytes, NULL), TC_OK);
    assert_int_equal(tc_writer_file_bytes(writer), bytes.size);
    assert_int_equal(tc_writer_close(writer, NULL), TC_OK);
    assert_int_equal(tc_writer_close(NULL, NULL), TC_OK);
    tc_strbuf_release(&bytes);
    tc_strbuf_release(&back);
}

static void existing_files_are_kept(void **state)
{
    struct tc_writer *writer;
    struct tc_error err;

    (void)state;
    put_file(path, "x", 1);
    assert_int_equal(tc_writer_open(path, &writer, &err), TC_E_IO);
    assert_null(writer);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "exists"));
}

static void an_abandoned_writer_writes_nothing(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_writer *writer = open_writer();

    (void)state;
    add(writer, "a\n", 0);
    tc_writer_abandon(writer);
    tc_writer_abandon(NULL);
    assert_int_equal(tc_fs_read(path, TC_FS_MAX_LARGE, &bytes, NULL), TC_OK);
    assert_int_equal(bytes.size, 0);
    tc_strbuf_release(&bytes);
}

/* A limit on file size stands for a full disk: write is cut short, then refused. */
static void a_full_disk_leaves_whole_frames(void **state)
{
    struct tc_strbuf lines = TC_STRBUF_INIT, back = TC_STRBUF_INIT, whole = TC_STRBUF_INIT;
    struct tc_writer *writer = open_writer();
    struct rlimit old, small;
    struct tc_error err = {TC_OK, ""};
    uint64_t seed = 6;
    size_t largest;

    (void)state;
    for (int i = 0; i < 5000; i++)
        tc_strbuf_addf(&lines, "%llx\n", (unsigned long long)unit_random(&seed));
    add(writer, "first\n", 0);
    assert_int_equal(tc_writer_flush(writer, NULL), TC_OK);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){1000, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(tc_writer_add(writer, lines.text, lines.size, 0, &err), TC_OK);
    assert_int_equal(tc_writer_flush(writer, &err), TC_E_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "too large"));
    assert_false(tc_writer_may_recover(writer)); /* as it would of ENOSPC */
    assert_int_equal(tc_writer_file_lines(writer), 1);
    add(writer, "last\n", 0); /* there is room again: what waited comes first */
    assert_int_equal(tc_writer_flush(writer, &err), TC_OK);
    assert_int_equal(tc_writer_file_lines(writer), 5002);
    assert_int_equal(tc_writer_close(writer, &err), TC_OK);
    assert_int_equal(read_frames(&back, &largest), 3);
    tc_strbuf_adds(&whole, "first\n");
    tc_strbuf_add(&whole, lines.text, lines.size);
    tc_strbuf_adds(&whole, "last\n");
    assert_string_equal(back.text, whole.text);
    tc_strbuf_release(&lines);
    tc_strbuf_release(&whole);
    tc_strbuf_release(&back);
}

static void a_missing_device_is_named(void **state)
{
    struct tc_writer *writer;
    struct tc_error err;
    char *lost = tc_fs_join(dir, "none/trace_a.jsonl.zst");

    (void)state;
    assert_int_equal(tc_writer_open(lost, &writer, &err), TC_E_IO);
    assert_non_null(strstr(err.text, lost));
    free(lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_are_bounded_by_size, setup, teardown),
        cmocka_unit_test_setup_teardown(long_lines_have_their_own_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(frames_are_bounded_by_age, setup, teardown),
        cmocka_unit_test_setup_teardown(flush_writes_what_there_is, setup, teardown),
        cmocka_unit_test_setup_teardown(existing_files_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(an_abandoned_writer_writes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_whole_frames, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_device_is_named, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
