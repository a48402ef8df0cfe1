/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_json.c - documents
 */
#include "unit.h"

#include "base/json.h"

static struct tc_json *parse(const char *text)
{
    struct tc_json *json;
    struct tc_error err;

    assert_int_equal(tc_json_parse(text, strlen(text), &json, &err), TC_OK);
    return json;
}

static void documents_come_back(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "null",
        "true",
        "-1.5",
        "\"\"",
        "4294967296",
        "9007199254740992",
        "{\"z\":1,\"a\":[true,false,null,\"x\",{\"b\":[]}],\"m\":{}}",
        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\xc3\xa9\xf0\x9f\x98\x80\"",
    };
    struct tc_strbuf buf = TC_STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < N_OF(texts); i++) {
        struct tc_json *json = parse(texts[i]), *copy = tc_json_copy(json);

        tc_strbuf_reset(&buf);
        tc_json_print(json, &buf);
        assert_string_equal(buf.text, texts[i]);
        tc_json_free(json);
        tc_strbuf_reset(&buf);
        tc_json_print(copy, &buf);
        assert_string_equal(buf.text, texts[i]);
        tc_json_free(copy);
    }
    tc_strbuf_release(&buf);
}

static void pretty_is_indented(void **state)
{
    struct tc_json *json = parse("{\"a\":[1,2],\"b\":{},\"c\":[]}");
    struct tc_strbuf buf = TC_STRBUF_INIT;

    (void)state;
    tc_json_print_pretty(json, &buf);
    assert_string_equal(buf.text,
                        "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": []\n}");
    tc_json_free(json);
    tc_strbuf_release(&buf);
}

static void errors_say_where(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"",            "byte 0: not JSON"                           },
        {"{\"a\":1,}",  "byte 7: not JSON"                           },
        {"[1,2 x",      "byte 5: not JSON"                           },
        {"[1] x",       "byte 4: something follows the JSON document"},
        {"{\"a\":tru}", "byte 5: not JSON"                           },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct tc_json *json;
        struct tc_error err;

        assert_int_equal(tc_json_parse(cases[i].text, strlen(cases[i].text), &json, &err),
                         TC_E_FORMAT);
        assert_null(json);
        assert_string_equal(err.text, cases[i].message);
    }
}

static void size_bounds_the_text(void **state)
{
    struct tc_json *json;

    (void)state;
    assert_int_equal(tc_json_parse("12345", 3, &json, NULL), TC_OK);
    assert_true(tc_json_to_number(json, 0) == 123);
    tc_json_free(json);
    assert_int_equal(tc_json_parse("[1] \n\t", 6, &json, NULL), TC_OK);
    tc_json_free(json);
    assert_int_equal(tc_json_parse("[1]\0", 4, &json, NULL), TC_E_FORMAT);
}

static void set_replaces_in_place(void **state)
{
    struct tc_json *json = tc_json_object(), *array = tc_json_array();
    struct tc_strbuf buf = TC_STRBUF_INIT;

    (void)state;
    tc_json_set_string(json, "a", "x");
    tc_json_set_number(json, "b", 2);
    tc_json_set_bool(json, "A", true);
    tc_json_set(json, "a", array);
    tc_json_append(array, tc_json_null());
    tc_json_append(array, tc_json_string("y"));
    tc_json_append(array, tc_json_bool(false));
    tc_json_print(json, &buf);
    assert_string_equal(buf.text, "{\"a\":[null,\"y\",false],\"b\":2,\"A\":true}");
    tc_json_free(json);
    tc_strbuf_release(&buf);
}

static void getters_forgive(void **state)
{
    struct tc_json *json =
        parse("{\"s\":\"t\",\"n\":2.5,\"b\":true,\"z\":null,\"o\":{},\"a\":[1,2]}");

    (void)state;
    assert_string_equal(tc_json_text(tc_json_get(json, "s")), "t");
    assert_null(tc_json_text(tc_json_get(json, "n")));
    assert_true(tc_json_to_number(tc_json_get(json, "n"), 7) == 2.5);
    assert_true(tc_json_to_number(tc_json_get(json, "s"), 7) == 7);
    assert_true(tc_json_to_bool(tc_json_get(json, "b"), false));
    assert_true(tc_json_to_bool(tc_json_get(json, "none"), true));
    assert_true(tc_json_is_null(tc_json_get(json, "z")));
    assert_false(tc_json_is_null(NULL));
    assert_null(tc_json_get(NULL, "x"));
    assert_null(tc_json_get(tc_json_get(json, "a"), "x"));
    assert_null(tc_json_get(json, "S"));
    assert_int_equal(tc_json_count(json), 6);
    assert_int_equal(tc_json_count(tc_json_get(json, "s")), 0);
    assert_int_equal(tc_json_count(NULL), 0);
    assert_null(tc_json_first(NULL));
    tc_json_free(json);
    tc_json_free(NULL);
}

static void members_are_visited_in_order(void **state)
{
    struct tc_json *json = parse("{\"c\":1,\"a\":2,\"b\":3}");
    char keys[4] = "";
    size_t n = 0;

    (void)state;
    for (const struct tc_json *m = tc_json_first(json); m; m = tc_json_next(m))
        keys[n++] = tc_json_key(m)[0];
    assert_string_equal(keys, "cab");
    assert_null(tc_json_next(NULL));
    tc_json_free(json);
}

static void numbers_that_json_lacks_are_null(void **state)
{
    struct tc_json *json = tc_json_number(1e308 * 10);
    struct tc_strbuf buf = TC_STRBUF_INIT;

    (void)state;
    tc_json_print(json, &buf);
    assert_string_equal(buf.text, "null");
    tc_json_free(json);
    tc_strbuf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_come_back),
        cmocka_unit_test(pretty_is_indented),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(size_bounds_the_text),
        cmocka_unit_test(set_replaces_in_place),
        cmocka_unit_test(getters_forgive),
        cmocka_unit_test(members_are_visited_in_order),
        cmocka_unit_test(numbers_that_json_lacks_are_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
