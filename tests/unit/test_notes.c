/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_notes.c - one note per file and code
 */
#include "unit.h"

#include "trace/reader_notes.h"

static void notes_are_counted_by_file_and_code(void **state)
{
    struct tc_notes *notes = tc_notes_new();

    (void)state;
    assert_int_equal(tc_notes_count(notes), 0);
    tc_notes_add(notes, "a", "f", 3, "first %d", 1);
    tc_notes_add(notes, "a", "g", 4, "other file");
    tc_notes_add(notes, "a", "f", 9, "second");
    tc_notes_add(notes, "b", NULL, 0, "no file");
    assert_int_equal(tc_notes_count(notes), 3);
    assert_string_equal(tc_notes_get(notes, 0)->code, "a");
    assert_string_equal(tc_notes_get(notes, 0)->file, "f");
    assert_string_equal(tc_notes_get(notes, 0)->text, "first 1");
    assert_int_equal(tc_notes_get(notes, 0)->line, 3);
    assert_int_equal(tc_notes_get(notes, 0)->count, 2);
    assert_string_equal(tc_notes_get(notes, 1)->file, "g");
    assert_string_equal(tc_notes_get(notes, 2)->file, "");
    tc_notes_free(notes);
    tc_notes_free(NULL);
}

static void lists_are_appended(void **state)
{
    struct tc_notes *notes = tc_notes_new(), *more = tc_notes_new();

    (void)state;
    tc_notes_add(notes, "a", "f", 3, "first");
    tc_notes_add(more, "b", "f", 5, "new");
    tc_notes_add(more, "a", "f", 9, "second");
    tc_notes_add(more, "a", "f", 10, "third");
    tc_notes_take(notes, more);
    tc_notes_free(more);
    assert_int_equal(tc_notes_count(notes), 2);
    assert_string_equal(tc_notes_get(notes, 0)->text, "first");
    assert_int_equal(tc_notes_get(notes, 0)->count, 3);
    assert_string_equal(tc_notes_get(notes, 1)->code, "b");
    assert_string_equal(tc_notes_get(notes, 1)->text, "new");
    assert_int_equal(tc_notes_get(notes, 1)->line, 5);
    tc_notes_free(notes);
}

static void code_and_file_do_not_run_together(void **state)
{
    struct tc_notes *notes = tc_notes_new();

    (void)state;
    tc_notes_add(notes, "ab", "c", 0, "x");
    tc_notes_add(notes, "a", "bc", 0, "x");
    assert_int_equal(tc_notes_count(notes), 2);
    tc_notes_free(notes);
}

static void long_texts_are_cut(void **state)
{
    struct tc_notes *notes = tc_notes_new();

    (void)state;
    tc_notes_add(notes, "a", "f", 0, "%0500d", 1);
    assert_int_equal(strlen(tc_notes_get(notes, 0)->text), 199);
    tc_notes_free(notes);
}

static void notes_stay_where_they_are(void **state)
{
    struct tc_notes *notes = tc_notes_new();
    const struct tc_note *first;
    char file[32];

    (void)state;
    tc_notes_add(notes, "a", "0", 0, "x");
    first = tc_notes_get(notes, 0);
    for (int i = 1; i < 1000; i++) {
        snprintf(file, sizeof(file), "%d", i);
        tc_notes_add(notes, "a", file, 0, "x");
    }
    assert_int_equal(tc_notes_count(notes), 1000);
    assert_ptr_equal(tc_notes_get(notes, 0), first);
    assert_string_equal(tc_notes_get(notes, 999)->file, "999");
    tc_notes_free(notes);
}

static void withdrawn_notes_may_come_again(void **state)
{
    struct tc_notes *notes = tc_notes_new();

    (void)state;
    tc_notes_withdraw(notes, "a", "f");
    tc_notes_add(notes, "a", "f", 1, "one");
    tc_notes_add(notes, "b", "f", 2, "two");
    tc_notes_withdraw(notes, "a", "f");
    assert_int_equal(tc_notes_count(notes), 1);
    assert_string_equal(tc_notes_get(notes, 0)->code, "b");
    tc_notes_add(notes, "a", "f", 3, "three");
    assert_int_equal(tc_notes_count(notes), 2);
    assert_string_equal(tc_notes_get(notes, 1)->text, "three");
    assert_int_equal(tc_notes_get(notes, 1)->count, 1);
    tc_notes_free(notes);
}

static void nobody_needs_to_know(void **state)
{
    struct tc_trace_folder *folder;

    (void)state;
    tc_notes_add(NULL, "a", "f", 1, "one");
    tc_notes_withdraw(NULL, "a", "f");
    tc_notes_take(NULL, NULL);
    assert_int_equal(tc_notes_count(NULL), 0);
    tc_notes_free(NULL);
    assert_int_equal(tc_trace_folder_open("nowhere", NULL, &folder, NULL), TC_E_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_are_counted_by_file_and_code),
        cmocka_unit_test(lists_are_appended),
        cmocka_unit_test(code_and_file_do_not_run_together),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(notes_stay_where_they_are),
        cmocka_unit_test(withdrawn_notes_may_come_again),
        cmocka_unit_test(nobody_needs_to_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
