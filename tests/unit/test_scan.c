/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_scan.c - JSON text to values, with cJSON as the oracle on random documents
 */
#include "unit.h"

#include <math.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "trace/scan.h"

static struct tc_arena arena;

static enum tc_status scan(const char *text, size_t size, struct tc_value *out,
                           struct tc_error *err)
{
    tc_arena_reset(&arena);
    return tc_scan(text, size, &arena, out, err);
}

static struct tc_value ok(const char *text)
{
    struct tc_value value;
    struct tc_error err = {TC_OK, ""};

    if (scan(text, strlen(text), &value, &err) != TC_OK)
        fail_msg("%s: %s", text, err.text);
    return value;
}

static void integers_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t number;
    } cases[] = {
        {"0",                    0               },
        {"-0",                   0               },
        {"7",                    7               },
        {" -1 ",                 -1              },
        {"9007199254740993",     9007199254740993},
        {"9223372036854775807",  INT64_MAX       },
        {"-9223372036854775808", INT64_MIN       },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct tc_value v = ok(cases[i].text);

        assert_int_equal(v.kind, TC_VALUE_INT);
        assert_true(v.integer == cases[i].number);
    }
}

static void other_numbers_are_the_nearest_double(void **state)
{
    static const char *const cases[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "1e0",
        "1E5",
        "1e+5",
        "1.5e-3",
        "0.1",
        "0.30000000000000004",
        "2.2250738585072011e-308",
        "5e-324",
        "1e-400",
        "1e400",
        "-1e400",
        "1e22",
        "1e23",
        "123456789012345678901234567890",
        "0.000000000000000000000000000001",
        "9007199254740993.0",
        "9007199254740993e22",
        "1.7976931348623157e308",
        "-0.0",
        "0e999",
        "1.00000000000000000000000000000000000000000000000000000000000000000000000000000000001",
        "1e99999999999999999999",
        "1e-99999999999999999999",
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct tc_value v = ok(cases[i]);
        double want = strtod(cases[i], NULL);

        assert_int_equal(v.kind, TC_VALUE_FLOAT);
        assert_memory_equal(&v.number, &want, sizeof(want));
    }
}

static void random_decimals_are_the_nearest_double(void **state)
{
    uint64_t seed = 9;
    char text[64];

    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint64_t r = unit_random(&seed);
        double want;
        struct tc_value v;

        snprintf(text, sizeof(text), "%s%llu.%lluE%d", r & 1 ? "-" : "",
                 (unsigned long long)(unit_random(&seed) >> (r >> 8 & 63)),
                 (unsigned long long)(unit_random(&seed) >> (r >> 16 & 63)),
                 (int)(r >> 32 & 127) - 64);
        want = strtod(text, NULL);
        v = ok(text);
        assert_memory_equal(&v.number, &want, sizeof(want));
    }
}

static void words_are_values(void **state)
{
    (void)state;
    assert_int_equal(ok("null").kind, TC_VALUE_NULL);
    assert_true(ok("true").boolean);
    assert_int_equal(ok("false").kind, TC_VALUE_BOOL);
    assert_false(ok("false").boolean);
    assert_true(isnan(ok("NaN").number));
    assert_true(ok("Infinity").number == INFINITY);
    assert_true(ok("-Infinity").number == -INFINITY);
    assert_int_equal(ok("[NaN,-Infinity]").n, 2);
}

static void every_escape_is_decoded(void **state)
{
    static const struct {
        const char *text, *want;
        size_t size;
    } cases[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",                           "\"\\/\b\f\n\r\t",                   8 },
        {"\"\\u0041\\u00e9\\u20AC\\uffff\"",                         "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf", 9 },
        {"\"\\ud83d\\ude00\\uD800\\uDC00\\uDBFF\\uDFFF\"",
         "\xf0\x9f\x98\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",                                              12},
        {"\"a\\u0000b\"",                                            "a\0b",                              3 },
        {"\"\\\\\"",                                                 "\\",                                1 },
        {"\"long plain text before \\n and long plain text after\"",
         "long plain text before \n and long plain text after",                                           50},
        {"\"\xf0\x9f\x98\x80\\n\xc3\xa9\"",                          "\xf0\x9f\x98\x80\n\xc3\xa9",        7 },
        {"\"\x7f\"",                                                 "\x7f",                              1 },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct tc_value v = ok(cases[i].text);

        assert_int_equal(v.kind, TC_VALUE_STR);
        assert_int_equal(v.n, cases[i].size);
        assert_memory_equal(v.text, cases[i].want, v.n);
    }
}

static void plain_strings_are_not_copied(void **state)
{
    const char *text = "{\"key\":[\"value\"]}";
    struct tc_value v = ok(text);

    (void)state;
    assert_ptr_equal(v.members[0].key.text, text + 2);
    assert_ptr_equal(v.members[0].value.items[0].text, text + 9);
}

/* Every length and place of the one byte that is not plain: the scanner goes by eight. */
static void specials_are_seen_at_every_place(void **state)
{
    (void)state;
    for (size_t size = 1; size < 40; size++) {
        for (size_t at = 0; at < size; at++) {
            char text[64];
            struct tc_value v;

            memset(text, 'a', sizeof(text));
            text[0] = text[size + 1] = '"';
            assert_int_equal(scan(text, size + 2, &v, NULL), TC_OK);
            assert_int_equal(v.n, size);
            text[at + 1] = '\n';
            assert_int_equal(scan(text, size + 2, &v, NULL), TC_E_FORMAT);
            text[at + 1] = (char)0xff;
            assert_int_equal(scan(text, size + 2, &v, NULL), TC_E_FORMAT);
            text[at + 1] = '"';
            assert_int_equal(scan(text, size + 2, &v, NULL), TC_E_FORMAT);
            assert_int_equal(scan(text, at + 2, &v, NULL), TC_OK);
            assert_int_equal(v.n, at);
        }
    }
}

static void errors_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"",                 "byte 1: expected a value, the line ends"                    },
        {"   ",              "byte 4: expected a value, the line ends"                    },
        {"x",                "byte 1: expected a value, not 'x'"                          },
        {"nul",              "byte 1: expected a value, not 'n'"                          },
        {"truE",             "byte 1: expected a value, not 't'"                          },
        {"+1",               "byte 1: expected a value, not '+'"                          },
        {".5",               "byte 1: expected a value, not '.'"                          },
        {"-",                "byte 2: expected a value, the line ends"                    },
        {"-x",               "byte 2: expected a value, not 'x'"                          },
        {"-Inf",             "byte 1: expected a value, not '-'"                          },
        {"01",               "byte 2: expected the end of the line, not '1'"              },
        {"1.",               "byte 3: expected a digit, the line ends"                    },
        {"1.e5",             "byte 3: expected a digit, not 'e'"                          },
        {"1e",               "byte 3: expected a digit, the line ends"                    },
        {"1e+",              "byte 4: expected a digit, the line ends"                    },
        {"1 2",              "byte 3: expected the end of the line, not '2'"              },
        {"{} {}",            "byte 4: expected the end of the line, not '{'"              },
        {"[1",               "byte 3: expected ',' or ']', the line ends"                 },
        {"[1 2",             "byte 4: expected ',' or ']', not '2'"                       },
        {"[1,]",             "byte 4: expected a value, not ']'"                          },
        {"[,1]",             "byte 2: expected a value, not ','"                          },
        {"[1}",              "byte 3: expected ',' or ']', not '}'"                       },
        {"{",                "byte 2: expected a key in quotes, the line ends"            },
        {"{a",               "byte 2: expected a key in quotes, not 'a'"                  },
        {"{\"a\"",           "byte 5: expected ':', the line ends"                        },
        {"{\"a\" 1",         "byte 6: expected ':', not '1'"                              },
        {"{\"a\":}",         "byte 6: expected a value, not '}'"                          },
        {"{\"a\":1,}",       "byte 8: expected a key in quotes, not '}'"                  },
        {"{\"a\":1]",        "byte 7: expected ',' or '}', not ']'"                       },
        {"\"abc",            "byte 5: expected '\"', the line ends"                       },
        {"\"abc\\",          "byte 6: expected '\"', the line ends"                       },
        {"\"abc\\\"",        "byte 7: expected '\"', the line ends"                       },
        {"\"a\nb\"",         "byte 3: expected no control character in a string, not 0x0a"},
        {"\"\\x\"",          "byte 3: expected an escape, not 'x'"                        },
        {"\"\\u12g4\"",      "byte 6: expected a hex digit, not 'g'"                      },
        {"\"\\u12\"",        "byte 6: expected a hex digit, not '\"'"                     },
        {"\"\\ud800\"",      "byte 8: expected a pair of surrogates, not '\"'"            },
        {"\"\\ud800x\"",     "byte 8: expected a pair of surrogates, not 'x'"             },
        {"\"\\udc00\"",      "byte 8: expected a pair of surrogates, not '\"'"            },
        {"\"a\xff\"",        "byte 3: expected UTF-8, not 0xff"                           },
        {"\"\xc0\x80\"",     "byte 2: expected UTF-8, not 0xc0"                           },
        {"\"\xed\xa0\x80\"", "byte 2: expected UTF-8, not 0xed"                           },
        {"\xef\xbb\xbf{}",   "byte 1: expected a value, not 0xef"                         },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct tc_value v;
        struct tc_error err = {TC_OK, ""};

        assert_int_equal(scan(cases[i].text, strlen(cases[i].text), &v, &err), TC_E_FORMAT);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(err.status, TC_E_FORMAT);
    }
}

static void depth_is_limited(void **state)
{
    char text[2 * TC_SCAN_MAX_DEPTH + 2];
    struct tc_value v;
    struct tc_error err;

    (void)state;
    memset(text, '[', TC_SCAN_MAX_DEPTH);
    memset(text + TC_SCAN_MAX_DEPTH, ']', TC_SCAN_MAX_DEPTH);
    assert_int_equal(scan(text, 2 * TC_SCAN_MAX_DEPTH, &v, NULL), TC_OK);
    memset(text, '[', TC_SCAN_MAX_DEPTH + 1);
    memset(text + TC_SCAN_MAX_DEPTH + 1, ']', TC_SCAN_MAX_DEPTH + 1);
    assert_int_equal(scan(text, sizeof(text), &v, &err), TC_E_FORMAT);
    assert_string_equal(err.text, "byte 65: expected at most 64 levels, not '['");
}

static void large_arrays_leave_the_small_stack(void **state)
{
    struct tc_strbuf buf = TC_STRBUF_INIT;
    struct tc_value v;

    (void)state;
    tc_strbuf_adds(&buf, "[[0");
    for (int i = 1; i < 100000; i++)
        tc_strbuf_addf(&buf, ",%d", i);
    tc_strbuf_adds(&buf, "],{\"k\":1}]");
    assert_int_equal(scan(buf.text, buf.size, &v, NULL), TC_OK);
    assert_int_equal(v.n, 2);
    assert_int_equal(v.items[0].n, 100000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(v.items[0].items[i].integer, i);
    assert_true(tc_str_is(v.items[1].members[0].key, "k"));
    tc_strbuf_release(&buf);
}

static void equal_keys_are_kept(void **state)
{
    struct tc_value v = ok("{\"a\":1,\"a\":2}");

    (void)state;
    assert_int_equal(v.n, 2);
    assert_int_equal(v.members[1].value.integer, 2);
}

/* No prefix of a document is a document, unless it is a number: then it was bounded by size. */
static void every_prefix_fails(void **state)
{
    const char *text = "{\"a\":[1,-2.5e3,\"x\\u00e9\xc3\xa9\",null,true,{\"b\":{}}],\"c\":NaN}";

    (void)state;
    for (size_t size = 0; size < strlen(text); size++) {
        char *copy = malloc(size + !size); /* of its own, so that ASan sees reads past its end */
        struct tc_value v;

        assert_non_null(copy);
        memcpy(copy, text, size);
        assert_int_equal(scan(copy, size, &v, NULL), TC_E_FORMAT);
        free(copy);
    }
}

static void add_space(struct tc_strbuf *buf, uint64_t *seed)
{
    if (unit_random(seed) % 8 == 0)
        tc_strbuf_addc(buf, " \t\r\n"[unit_random(seed) % 4]);
}

static void make_string(struct tc_strbuf *buf, uint64_t *seed)
{
    static const char *const pieces[] = {"a",
                                         "torch.nn.Linear",
                                         "\\n",
                                         "\\\"",
                                         "\\u00e9",
                                         "\\/",
                                         "\xe2\x82\xac",
                                         "\\ud83d\\ude00",
                                         "\\\\",
                                         " "};

    tc_strbuf_addc(buf, '"');
    for (uint64_t n = unit_random(seed) % 6; n; n--)
        tc_strbuf_adds(buf, pieces[unit_random(seed) % N_OF(pieces)]);
    tc_strbuf_addc(buf, '"');
}

static void make_scalar(struct tc_strbuf *buf, uint64_t *seed)
{
    switch (unit_random(seed) % 6) {
    case 0:
        tc_strbuf_adds(buf, "null");
        break;
    case 1:
        tc_strbuf_adds(buf, unit_random(seed) % 2 ? "true" : "false");
        break;
    case 2:
        tc_strbuf_addf(buf, "%lld", (long long)(unit_random(seed) >> 12) - (1LL << 51));
        break;
    case 3:
        tc_strbuf_addf(buf, "%.17g", (double)unit_random(seed) / 1e9);
        break;
    default:
        make_string(buf, seed);
    }
}

static void make_document(struct tc_strbuf *buf, uint64_t *seed, int depth)
{
    bool is_object = unit_random(seed) % 2;

    if (depth == 0 || unit_random(seed) % 3 == 0) {
        make_scalar(buf, seed);
        return;
    }
    tc_strbuf_addc(buf, is_object ? '{' : '[');
    add_space(buf, seed);
    for (uint64_t n = unit_random(seed) % 5, i = 0; i < n; i++) {
        if (i)
            tc_strbuf_addc(buf, ',');
        add_space(buf, seed);
        if (is_object) {
            make_string(buf, seed);
            add_space(buf, seed);
            tc_strbuf_addc(buf, ':');
            add_space(buf, seed);
        }
        make_document(buf, seed, depth - 1);
        add_space(buf, seed);
    }
    tc_strbuf_addc(buf, is_object ? '}' : ']');
}

static void compare(const struct tc_value *v, const struct tc_json *json)
{
    const struct tc_json *child = tc_json_first(json);

    switch (v->kind) {
    case TC_VALUE_NULL:
        assert_true(tc_json_is_null(json));
        break;
    case TC_VALUE_BOOL:
        assert_true(tc_json_is_bool(json));
        assert_int_equal(v->boolean, tc_json_to_bool(json, !v->boolean));
        break;
    case TC_VALUE_INT:
        assert_true(tc_json_to_number(json, NAN) == (double)v->integer);
        break;
    case TC_VALUE_FLOAT:
        assert_true(tc_json_to_number(json, NAN) == v->number);
        break;
    case TC_VALUE_STR:
        assert_true(tc_value_is(v, tc_json_text(json)));
        break;
    case TC_VALUE_ARRAY:
        assert_true(tc_json_is_array(json));
        assert_int_equal(v->n, tc_json_count(json));
        for (uint32_t i = 0; i < v->n; i++, child = tc_json_next(child))
            compare(&v->items[i], child);
        break;
    case TC_VALUE_OBJECT:
        assert_true(tc_json_is_object(json));
        assert_int_equal(v->n, tc_json_count(json));
        for (uint32_t i = 0; i < v->n; i++, child = tc_json_next(child)) {
            assert_true(tc_str_is(v->members[i].key, tc_json_key(child)));
            compare(&v->members[i].value, child);
        }
        break;
    }
}

static void random_documents_are_what_cjson_says(void **state)
{
    struct tc_strbuf buf = TC_STRBUF_INIT;
    uint64_t seed = 2024;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        struct tc_json *json;
        struct tc_value v;

        tc_strbuf_reset(&buf);
        make_document(&buf, &seed, 6);
        assert_int_equal(tc_json_parse(buf.text, buf.size, &json, NULL), TC_OK);
        assert_int_equal(scan(buf.text, buf.size, &v, NULL), TC_OK);
        compare(&v, json);
        tc_json_free(json);
    }
    tc_strbuf_release(&buf);
}

/* cJSON forgives more than we do, but nothing we take may it refuse. */
static void what_is_taken_cjson_takes_too(void **state)
{
    struct tc_strbuf buf = TC_STRBUF_INIT;
    uint64_t seed = 77;
    int taken = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct tc_json *json;
        struct tc_value v;

        tc_strbuf_reset(&buf);
        make_document(&buf, &seed, 4);
        buf.text[unit_random(&seed) % buf.size] = "{}[],:\"\\0a-. "[unit_random(&seed) % 13];
        if (scan(buf.text, buf.size, &v, NULL) != TC_OK)
            continue;
        taken++;
        assert_int_equal(tc_json_parse(buf.text, buf.size, &json, NULL), TC_OK);
        compare(&v, json);
        tc_json_free(json);
    }
    assert_true(taken >= 1000 && taken <= 19000); /* both kinds were tried */
    tc_strbuf_release(&buf);
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
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(other_numbers_are_the_nearest_double),
        cmocka_unit_test(random_decimals_are_the_nearest_double),
        cmocka_unit_test(words_are_values),
        cmocka_unit_test(every_escape_is_decoded),
        cmocka_unit_test(plain_strings_are_not_copied),
        cmocka_unit_test(specials_are_seen_at_every_place),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(large_arrays_leave_the_small_stack),
        cmocka_unit_test(equal_keys_are_kept),
        cmocka_unit_test(every_prefix_fails),
        cmocka_unit_test(random_documents_are_what_cjson_says),
        cmocka_unit_test(what_is_taken_cjson_takes_too),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
