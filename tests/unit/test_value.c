/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_value.c - looking into and printing values
 */
#include "unit.h"

#include <math.h>

#include "base/strbuf.h"
#include "replay/event.h"
#include "trace/scan.h"

static struct tc_arena arena;

static const struct tc_value *scan(const char *text)
{
    struct tc_value *value = tc_arena_alloc(&arena, sizeof(*value));

    assert_int_equal(tc_scan(text, strlen(text), &arena, value, NULL), TC_OK);
    return value;
}

static void strings_compare(void **state)
{
    struct tc_str abc = {"abcd", 3}, none = {NULL, 0}, empty = {"", 0};

    (void)state;
    assert_true(tc_str_is(abc, "abc"));
    assert_false(tc_str_is(abc, "abcd"));
    assert_false(tc_str_is(abc, "ab"));
    assert_false(tc_str_is(none, ""));
    assert_true(tc_str_is(empty, ""));
    assert_true(tc_str_same(none, none));
    assert_false(tc_str_same(none, empty));
    assert_true(tc_str_same(abc, (struct tc_str){"abc", 3}));
    assert_false(tc_str_same(abc, (struct tc_str){"abx", 3}));
}

static void getters_forgive(void **state)
{
    const struct tc_value *v = scan("{\"s\":\"t\",\"n\":7,\"f\":1.5,\"z\":0.0,\"s\":\"second\"}");
    double number = -1;

    (void)state;
    assert_true(tc_value_is(tc_value_get(v, "s"), "t")); /* the first of equal keys */
    assert_null(tc_value_get(v, "x"));
    assert_null(tc_value_get(NULL, "x"));
    assert_null(tc_value_get(tc_value_get(v, "s"), "x"));
    assert_int_equal(tc_value_int(tc_value_get(v, "n"), -1), 7);
    assert_int_equal(tc_value_int(tc_value_get(v, "f"), -1), -1);
    assert_int_equal(tc_value_int(NULL, -1), -1);
    assert_false(tc_value_number(NULL, &number) || tc_value_number(tc_value_get(v, "s"), &number));
    assert_float_equal(number, -1, 0); /* as it was */
    assert_true(tc_value_number(tc_value_get(v, "n"), &number) && number == 7);
    assert_true(tc_value_number(tc_value_get(v, "f"), &number) && number == 1.5);
    assert_true(tc_value_is_zero(tc_value_get(v, "z")));
    assert_false(tc_value_is_zero(NULL) || tc_value_is_zero(tc_value_get(v, "n")) ||
                 tc_value_is_zero(tc_value_get(v, "s")));
    assert_null(tc_value_str(tc_value_get(v, "n")).text);
    assert_null(tc_value_str(NULL).text);
    assert_false(tc_value_is(NULL, "x"));
}

static void elements_are_counted(void **state)
{
    (void)state;
    assert_int_equal(tc_count_elements(NULL), 0);
    assert_int_equal(tc_count_elements(scan("\"2\"")), 0);
    assert_int_equal(tc_count_elements(scan("[]")), 1);
    assert_int_equal(tc_count_elements(scan("[2,3]")), 6);
    assert_int_equal(tc_count_elements(scan("[-1]")), UINT32_MAX);
    assert_int_equal(tc_count_elements(scan("[4294967295,4294967295,4294967295]")), UINT32_MAX);
}

static void printing_gives_the_same_text(void **state)
{
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "9223372036854775807",
        "-9223372036854775808",
        "1.5",
        "5.0",
        "-0.0",
        "1e+20",
        "9007199254740994.0",
        "NaN",
        "Infinity",
        "-Infinity",
        "\"\"",
        "[]",
        "{}",
        "[1,[2.0,[\"a\\n\"]]]",
        "{\"b\":{},\"a\":[null],\"b\":1}",
    };
    struct tc_strbuf buf = TC_STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < N_OF(texts); i++) {
        tc_strbuf_reset(&buf);
        tc_value_print(scan(texts[i]), &buf);
        assert_string_equal(buf.text, texts[i]);
    }
    tc_strbuf_release(&buf);
}

static void floats_come_back_as_floats(void **state)
{
    struct tc_strbuf buf = TC_STRBUF_INIT;
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct tc_value value = {.kind = TC_VALUE_FLOAT};
        uint64_t bits = unit_random(&seed);
        const struct tc_value *back;

        memcpy(&value.number, &bits, sizeof(bits));
        if (i % 2)
            value.number = (double)(int64_t)(bits >> (i % 64)); /* integral ones too */
        if (isnan(value.number))
            continue;
        tc_strbuf_reset(&buf);
        tc_value_print(&value, &buf);
        back = scan(buf.text);
        assert_int_equal(back->kind, TC_VALUE_FLOAT);
        assert_memory_equal(&back->number, &value.number, sizeof(double));
        tc_arena_reset(&arena);
    }
    tc_strbuf_release(&buf);
}

static void json_is_cut_at_the_size_given(void **state)
{
    const struct tc_value *value = scan("{\"a\":[1,2.5,\"x\"]}");
    char text[64];

    (void)state;
    assert_int_equal(tc_value_json(value, text, sizeof(text)), 17);
    assert_string_equal(text, "{\"a\":[1,2.5,\"x\"]}");
    assert_int_equal(tc_value_json(value, text, 5), 17);
    assert_string_equal(text, "{\"a\"");
    assert_int_equal(tc_value_json(value, NULL, 0), 17);
    assert_int_equal(tc_value_json(NULL, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    tc_arena_reset(&arena);
}

static int teardown(void **state)
{
    (void)state;
    tc_arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_compare),
        cmocka_unit_test(getters_forgive),
        cmocka_unit_test(elements_are_counted),
        cmocka_unit_test(printing_gives_the_same_text),
        cmocka_unit_test(floats_come_back_as_floats),
        cmocka_unit_test(json_is_cut_at_the_size_given),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
