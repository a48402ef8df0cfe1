/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader.c - one trace file as records: torn, damaged, foreign and growing files
 */
#include "trace_make.h"

#include <sys/stat.h>

static char *dir, *zst, *plain;
static struct tc_notes *notes;

static int setup(void **state)
{
    (void)state;
    dir = unit_folder();
    zst = tc_fs_join(dir, "trace_a.jsonl.zst");
    plain = tc_fs_join(dir, "trace_a.jsonl");
    notes = tc_notes_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_notes_free(notes);
    free(plain);
    free(zst);
    unit_remove(dir);
    return 0;
}

static void clear_notes(void)
{
    tc_notes_free(notes);
    notes = tc_notes_new();
}

/* n frames; the first begins with the process record, each has steps more, numbered on. ends[i] is
 * where frame i ends in the file. */
static void make_frames(struct tc_strbuf *file, size_t n, int64_t steps, size_t *ends)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    int64_t step = 0;

    make_process(&text, 0);
    for (size_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < steps; k++, step++)
            make_step(&text, step, step * 10);
        make_frame(file, text.text, text.size);
        tc_strbuf_reset(&text);
        ends[i] = file->size;
    }
    tc_strbuf_release(&text);
}

static void a_whole_file_is_read(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_trace_file *file;
    int64_t next = 0;
    size_t ends[50];

    (void)state;
    make_frames(&bytes, 50, 200, ends);
    put_file(zst, bytes.text, bytes.size);
    file = open_trace(zst, notes);
    assert_int_equal(tc_trace_file_process(file)->type, TC_RECORD_PROCESS);
    assert_int_equal(tc_trace_file_process(file)->line, 1);
    assert_string_equal(tc_trace_file_name(file), "trace_a.jsonl.zst");
    read_steps(file, &next);
    assert_int_equal(next, 50 * 200);
    assert_true(tc_value_is(tc_value_get(tc_trace_file_process(file)->object, "role"), "main"));
    assert_int_equal(tc_trace_file_bytes(file), bytes.size);
    assert_true(tc_trace_file_json_bytes(file) > 200 * 50 * 30);
    assert_int_equal(tc_notes_count(notes), 0);
    tc_trace_file_close(file);
    tc_trace_file_close(NULL);
    tc_strbuf_release(&bytes);
}

static void lines_are_counted_over_frames(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_trace_file *file;
    const struct tc_record *record;
    struct tc_error err;
    uint64_t line = 2;
    size_t ends[3];

    (void)state;
    make_frames(&bytes, 3, 4, ends);
    put_file(zst, bytes.text, bytes.size);
    file = open_trace(zst, notes);
    while (tc_trace_file_next(file, &record, &err) == TC_OK)
        assert_int_equal(record->line, line++);
    assert_int_equal(line, 14);
    tc_trace_file_close(file);
    tc_strbuf_release(&bytes);
}

static void a_tail_torn_anywhere_is_noted(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    size_t ends[2];

    (void)state;
    make_frames(&bytes, 2, 3, ends);
    for (size_t size = ends[0]; size < ends[1]; size++) {
        const struct tc_note *note;
        struct tc_trace_file *file;
        char want[48];
        int64_t next = 0;

        clear_notes();
        put_file(zst, bytes.text, size);
        file = open_trace(zst, notes);
        read_steps(file, &next);
        read_steps(file, &next);
        assert_int_equal(next, 3);
        note = find_note(notes, "torn-tail");
        assert_int_equal(tc_notes_count(notes), size > ends[0]);
        if (size > ends[0]) {
            assert_int_equal(note->count, 1);
            snprintf(want, sizeof(want), "the last %zu bytes", size - ends[0]);
            assert_non_null(strstr(note->text, want));
        }
        tc_trace_file_close(file);
    }
    tc_strbuf_release(&bytes);
}

/* Cut inside of the first frame there is no process record yet. */
static void a_torn_first_frame_is_no_trace(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_trace_file *file;
    struct tc_error err;
    size_t ends[1];

    (void)state;
    make_frames(&bytes, 1, 1, ends);
    for (size_t size = 0; size < bytes.size; size++) {
        put_file(zst, bytes.text, size);
        assert_int_equal(tc_trace_file_open(zst, notes, &file, &err), TC_E_FORMAT);
        assert_null(file);
        assert_non_null(strstr(err.text, zst));
    }
    tc_strbuf_release(&bytes);
}

static void a_file_may_grow_in_pieces(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    uint64_t seed = 11;
    size_t ends[20];

    (void)state;
    make_frames(&bytes, 20, 5, ends);
    for (int round = 0; round < 20; round++) {
        struct tc_trace_file *file;
        size_t size = ends[0], whole = 1;
        int64_t next = 0;

        clear_notes();
        put_file(zst, bytes.text, size);
        file = open_trace(zst, notes);
        while (size < bytes.size) {
            size_t more = (size_t)(unit_random(&seed) % 90);

            more = more < bytes.size - size ? more : bytes.size - size;
            append_file(zst, bytes.text + size, more);
            size += more;
            while (whole < 20 && ends[whole] <= size)
                whole++;
            read_steps(file, &next);
            assert_int_equal(next, whole * 5);
            /* A tail is torn only as long as it is. */
            assert_int_equal(find_note(notes, "torn-tail") != NULL, size > ends[whole - 1]);
        }
        assert_int_equal(tc_notes_count(notes), 0);
        tc_trace_file_close(file);
    }
    tc_strbuf_release(&bytes);
}

/* Any byte of the second of three frames: the first and the third are read. */
static void a_damaged_frame_is_skipped(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    size_t ends[3], harmless = 0;

    (void)state;
    make_frames(&bytes, 3, 5, ends);
    for (size_t at = ends[0]; at < ends[1]; at++) {
        const struct tc_record *record;
        struct tc_trace_file *file;
        struct tc_error err;
        int64_t steps[15];
        size_t n = 0;

        clear_notes();
        bytes.text[at] = (char)(bytes.text[at] ^ 0x55);
        put_file(zst, bytes.text, bytes.size);
        bytes.text[at] = (char)(bytes.text[at] ^ 0x55);
        file = open_trace(zst, notes);
        while (tc_trace_file_next(file, &record, &err) == TC_OK && n < 15)
            steps[n++] = record->step;
        harmless += n == 15;
        if (n != 15) {
            assert_int_equal(n, 10);
            for (int64_t i = 0; i < 10; i++)
                assert_int_equal(steps[i], i < 5 ? i : i + 5);
            assert_int_equal(tc_notes_count(notes), 1);
            assert_non_null(strstr(find_note(notes, "bad-frame")->text, "frame 2 at byte"));
            assert_int_equal(find_note(notes, "bad-frame")->count, 1);
        }
        tc_trace_file_close(file);
    }
    assert_true(harmless <= 1); /* zstd has a reserved bit */
    tc_strbuf_release(&bytes);
}

static void a_damaged_last_frame_is_noted(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_trace_file *file;
    int64_t next = 0;
    size_t ends[2];

    (void)state;
    clear_notes();
    make_frames(&bytes, 2, 5, ends);
    bytes.text[ends[1] - 1] ^= 1; /* the checksum */
    put_file(zst, bytes.text, bytes.size);
    file = open_trace(zst, notes);
    read_steps(file, &next);
    assert_int_equal(next, 5);
    assert_int_equal(tc_notes_count(notes), 1);
    assert_non_null(find_note(notes, "bad-frame"));
    tc_trace_file_close(file);
    tc_strbuf_release(&bytes);
}

static void frames_may_split_lines(void **state)
{
    struct tc_strbuf text = TC_STRBUF_INIT, bytes = TC_STRBUF_INIT;
    struct tc_trace_file *file;
    int64_t next = 0;

    (void)state;
    clear_notes();
    make_process(&text, 0);
    for (int64_t i = 0; i < 20; i++)
        make_step(&text, i, i);
    for (size_t at = 0; at < text.size; at += 7)
        make_frame(&bytes, text.text + at, text.size - at < 7 ? text.size - at : 7);
    put_file(zst, bytes.text, bytes.size);
    file = open_trace(zst, notes);
    read_steps(file, &next);
    assert_int_equal(next, 20);
    assert_int_equal(tc_notes_count(notes), 0);
    tc_trace_file_close(file);
    tc_strbuf_release(&text);
    tc_strbuf_release(&bytes);
}

static void plain_files_grow_byte_by_byte(void **state)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_trace_file *file;
    size_t size, lines = 0;
    int64_t next = 0;

    (void)state;
    clear_notes();
    make_process(&text, 0);
    size = text.size;
    for (int64_t i = 0; i < 10; i++)
        make_step(&text, i, i);
    put_file(plain, text.text, size);
    file = open_trace(plain, notes);
    for (; size < text.size; size++) {
        bool is_whole = size + 1 < text.size && text.text[size + 1] == '\n';

        append_file(plain, text.text + size, 1);
        lines += is_whole; /* the line is whole before its newline comes */
        read_steps(file, &next);
        assert_int_equal(next, lines);
        assert_int_equal(find_note(notes, "torn-tail") != NULL,
                         !is_whole && text.text[size] != '\n');
    }
    assert_int_equal(next, 10);
    assert_int_equal(tc_notes_count(notes), 0);
    tc_trace_file_close(file);
    tc_strbuf_release(&text);
}

/* What is odd is noted with its line, and the rest is read. */
static void odd_lines_are_noted(void **state)
{
    static const char text[] = "{\"type\":\"process\",\"schema\":1,\"pid\":1,\"role\":\"main\"}\n"
                               "not json\n"
                               "\n"
                               "{\"type\":\"step\",\"step\":1,\"t\":1}\r\n"
                               "{\"type\":\"step\",\"t\":1}\n"
                               "{\"type\":\"wow\",\"step\":3}\n"
                               "{\"type\":\"step\",\"step\":2,\"t\":1,\"new\":1}\n"
                               "{\"broken\n"
                               "{\"type\":\"step\",\"step\":3,\"t\":1}";
    static const struct {
        const char *code;
        uint64_t line, count;
        const char *text;
    } want[] = {
        {"bad-json",     2, 2, "byte 1: expected a value, not 'n'"                },
        {"bad-record",   5, 1, "step record without \"step\""                     },
        {"unknown-type", 6, 1, "records of type \"wow\" are not known and skipped"},
        {"unknown-key",  7, 1, "\"new\" of a step record is not known and skipped"},
    };
    static const uint64_t lines[] = {4, 6, 7, 9};
    struct tc_trace_file *file;
    const struct tc_record *record;
    struct tc_error err;
    size_t n = 0;

    (void)state;
    clear_notes();
    put_file(plain, text, sizeof(text) - 1);
    file = open_trace(plain, notes);
    while (tc_trace_file_next(file, &record, &err) == TC_OK) {
        assert_int_equal(record->line, lines[n]);
        assert_int_equal(record->type == TC_RECORD_UNKNOWN, n == 1);
        n++;
    }
    assert_int_equal(n, N_OF(lines));
    assert_int_equal(tc_notes_count(notes), N_OF(want));
    for (size_t i = 0; i < N_OF(want); i++) {
        const struct tc_note *note = tc_notes_get(notes, i);

        assert_string_equal(note->code, want[i].code);
        assert_string_equal(note->file, "trace_a.jsonl");
        assert_int_equal(note->line, want[i].line);
        assert_int_equal(note->count, want[i].count);
        assert_string_equal(note->text, want[i].text);
    }
    tc_trace_file_close(file);
}

static void foreign_files_are_refused(void **state)
{
    static const struct {
        const char *text;
        enum tc_status status;
        const char *message;
    } cases[] = {
        {"",                                                                  TC_E_FORMAT,  "it is empty"       },
        {"\n\n",                                                              TC_E_FORMAT,  "no whole record"   },
        {"hello\n",                                                           TC_E_FORMAT,  "line 1: byte 1"    },
        {"[]\n",                                                              TC_E_FORMAT,  "no process record" },
        {"{\"type\":\"end\",\"t\":1}\n",                                      TC_E_FORMAT,  "no process record" },
        {"{\"type\":\"process\",\"schema\":1}\n",                             TC_E_FORMAT,  "without \"pid\""   },
        {"{\"type\":\"process\",\"pid\":1,\"role\":\"main\"}\n",              TC_E_FORMAT,  "without \"schema\""},
        {"{\"type\":\"process\",\"schema\":0,\"pid\":1,\"role\":\"main\"}\n", TC_E_FORMAT,
         "\"schema\" is 0"                                                                                      },
        {"{\"type\":\"process\",\"schema\":7}\n",                             TC_E_VERSION,
         "schema is 7, the newest known here is 6"                                                              },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct tc_trace_file *file;
        struct tc_error err;

        put_file(plain, cases[i].text, strlen(cases[i].text));
        assert_int_equal(tc_trace_file_open(plain, notes, &file, &err), cases[i].status);
        assert_null(file);
        assert_non_null(strstr(err.text, plain));
        if (!strstr(err.text, cases[i].message))
            fail_msg("%s", err.text);
    }
}

static void what_cannot_be_opened_is_named(void **state)
{
    char *fifo = tc_fs_join(dir, "trace_f.jsonl"), *none = tc_fs_join(dir, "none");
    struct tc_trace_file *file;
    struct tc_error err;

    (void)state;
    assert_int_equal(tc_trace_file_open(none, notes, &file, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.text, none));
    assert_int_equal(tc_trace_file_open(dir, notes, &file, &err), TC_E_FORMAT);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(tc_trace_file_open(fifo, notes, &file, &err), TC_E_FORMAT);
    put_file(zst, "hello\n", 6);
    assert_int_equal(tc_trace_file_open(zst, notes, &file, &err), TC_E_FORMAT);
    assert_non_null(strstr(err.text, "no zstd frame"));
    free(none);
    free(fifo);
}

static void lines_without_end_do_not_fill_memory(void **state)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_trace_file *file;
    char *piece = calloc(1, 1 << 20);
    int64_t next = 0;

    (void)state;
    clear_notes();
    assert_non_null(piece);
    memset(piece, 'x', 1 << 20);
    make_process(&text, 0);
    put_file(plain, text.text, text.size);
    for (int i = 0; i < 70; i++)
        append_file(plain, piece, 1 << 20);
    tc_strbuf_reset(&text);
    tc_strbuf_addc(&text, '\n');
    make_step(&text, 0, 1);
    append_file(plain, text.text, text.size);
    file = open_trace(plain, notes);
    read_steps(file, &next);
    assert_int_equal(next, 1);
    assert_int_equal(tc_notes_count(notes), 1);
    assert_int_equal(find_note(notes, "bad-json")->line, 2);
    assert_non_null(strstr(find_note(notes, "bad-json")->text, "a line of more than"));
    tc_trace_file_close(file);
    free(piece);
    tc_strbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_is_read),
        cmocka_unit_test(lines_are_counted_over_frames),
        cmocka_unit_test(a_tail_torn_anywhere_is_noted),
        cmocka_unit_test(a_torn_first_frame_is_no_trace),
        cmocka_unit_test(a_file_may_grow_in_pieces),
        cmocka_unit_test(a_damaged_frame_is_skipped),
        cmocka_unit_test(a_damaged_last_frame_is_noted),
        cmocka_unit_test(frames_may_split_lines),
        cmocka_unit_test(plain_files_grow_byte_by_byte),
        cmocka_unit_test(odd_lines_are_noted),
        cmocka_unit_test(foreign_files_are_refused),
        cmocka_unit_test(what_cannot_be_opened_is_named),
        cmocka_unit_test(lines_without_end_do_not_fill_memory),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
