/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_text.c - growing text, UTF-8, numbers
 */
#include "unit.h"

#include <locale.h>
#include <math.h>

#include "base/number.h"
#include "base/strbuf.h"
#include "base/utf8.h"

static void strbuf_adds_all_kinds(void **state)
{
    struct tc_strbuf buf = TC_STRBUF_INIT;

    (void)state;
    tc_strbuf_adds(&buf, "a");
    tc_strbuf_addc(&buf, '-');
    tc_strbuf_add(&buf, "b\0c", 3);
    tc_strbuf_addf(&buf, "%05d", 42);
    assert_int_equal(buf.size, 10);
    assert_memory_equal(buf.text, "a-b\0c00042", 11);
    tc_strbuf_reset(&buf);
    assert_string_equal(buf.text, "");
    tc_strbuf_release(&buf);
    assert_null(buf.text);
}

static void strbuf_takes_and_grows(void **state)
{
    struct tc_strbuf buf = TC_STRBUF_INIT;
    char *text = tc_strbuf_take(&buf);

    (void)state;
    assert_string_equal(text, "");
    free(text);
    for (int i = 0; i < 100000; i++)
        tc_strbuf_addc(&buf, (char)('a' + i % 26));
    assert_int_equal(strlen(buf.text), 100000);
    text = tc_strbuf_take(&buf);
    assert_int_equal(text[99999], 'a' + 99999 % 26);
    assert_null(buf.text);
    assert_int_equal(buf.size + buf.cap, 0);
    free(text);
}

static void assert_integer(int64_t n)
{
    struct tc_strbuf buf = TC_STRBUF_INIT;
    char text[32];

    tc_strbuf_add_int(&buf, n);
    snprintf(text, sizeof(text), "%lld", (long long)n);
    assert_string_equal(buf.text, text);
    assert_int_equal(buf.size, strlen(text));
    tc_strbuf_release(&buf);
}

static void strbuf_integers(void **state)
{
    (void)state;
    assert_integer(0);
    assert_integer(INT64_MAX);
    assert_integer(INT64_MIN);
    assert_integer(1234567890123);
    for (int64_t power = 1; power < INT64_MAX / 10; power *= 10)
        for (int64_t n = power - 2; n <= power + 2; n++) {
            assert_integer(n);
            assert_integer(-n);
        }
    for (int shift = 0; shift < 63; shift++)
        assert_integer(INT64_C(1) << shift);
}

static void strbuf_escapes_json(void **state)
{
    static const struct {
        const char *in;
        size_t size;
        const char *out;
    } cases[] = {
        {"",                                     0,  "\"\""                                    },
        {"plain/text",                           10, "\"plain/text\""                          },
        {"\"\\",                                 2,  "\"\\\"\\\\\""                            },
        {"\b\t\n\f\r",                           5,  "\"\\b\\t\\n\\f\\r\""                     },
        {"\0\x01\x1f\x7f",                       4,  "\"\\u0000\\u0001\\u001f\\u007f\""        },
        {"# ###[x",                              7,  "\"# #\\u0023\\u0023[x\""                 },
        {"\xc2\x9b\xe2\x80\xae\xc2\xa0",         7,  "\"\\u009b\\u202e\xc2\xa0\""              },
        {"\xc3\xa9\xf0\x9f\x98\x80",             6,  "\"\xc3\xa9\xf0\x9f\x98\x80\""            },
        {"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9", 9,  "\"\xe2\x80\xa7\\u2028\\u2029\""          },
        {"a\xff"
         "b",                           3,
         "\"a\xef\xbf\xbd"
         "b\""                                                                                 },
        {"\xe2\x82",                             2,  "\"\xef\xbf\xbd\xef\xbf\xbd\""            },
        {"\xed\xa0\x80",                         3,  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    struct tc_strbuf buf = TC_STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        tc_strbuf_reset(&buf);
        tc_strbuf_add_json(&buf, cases[i].in, cases[i].size);
        assert_string_equal(buf.text, cases[i].out);
    }
    tc_strbuf_release(&buf);
}

static void utf8_of_every_code(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char text[4];
        size_t size;

        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        size = tc_utf8_put(code, text);
        assert_int_equal(tc_utf8_size(text, text + size), size);
        for (size_t cut = 1; cut < size; cut++)
            assert_int_equal(tc_utf8_size(text, text + cut), 0);
    }
}

static void utf8_refuses_what_is_none(void **state)
{
    static const char *const cases[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3(",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe2\x28\xa1",
        "\xe2\x82\x28",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf0\x90\x28\xbc",
        "\xff",
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_int_equal(tc_utf8_size(cases[i], cases[i] + strlen(cases[i])), 0);
}

static void numbers_come_back(void **state)
{
    static const double corners[] = {0.1,     1e-308, 5e-324, 1.7976931348623157e308,
                                     -2.5,    1e15,   1e16,   123456789012345678.0,
                                     1.0 / 3, -0.0};
    struct tc_strbuf buf = TC_STRBUF_INIT;
    uint64_t seed = 3;

    (void)state;
    for (size_t i = 0; i < 20000; i++) {
        uint64_t bits = unit_random(&seed);
        double number, back;

        memcpy(&number, &bits, sizeof(number));
        if (i < N_OF(corners))
            number = corners[i];
        if (!isfinite(number))
            continue;
        tc_strbuf_reset(&buf);
        tc_strbuf_add_number(&buf, number);
        back = tc_number_parse(buf.text, buf.size);
        assert_memory_equal(&back, &number, sizeof(number));
    }
    tc_strbuf_release(&buf);
}

static void numbers_look_as_people_write_them(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {0.1,                "0.1"                },
        {-0.25,              "-0.25"              },
        {0.001,              "0.001"              },
        {3e-4,               "0.0003"             },
        {1e-5,               "1e-05"              },
        {123456.789,         "123456.789"         },
        {1.000001,           "1.000001"           },
        {0.1 + 0.2,          "0.30000000000000004"},
        {3,                  "3"                  },
        {-7,                 "-7"                 },
        {1e15,               "1000000000000000"   },
        {9007199254740992.0, "9007199254740992"   },
        {1e300,              "1e+300"             },
        {-0.0,               "-0"                 },
        {NAN,                "NaN"                },
        {INFINITY,           "Infinity"           },
        {-INFINITY,          "-Infinity"          }
    };
    struct tc_strbuf buf = TC_STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        tc_strbuf_reset(&buf);
        tc_strbuf_add_number(&buf, cases[i].number);
        assert_string_equal(buf.text, cases[i].text);
    }
    tc_strbuf_release(&buf);
}

static void numbers_of_any_length(void **state)
{
    char text[2000];

    (void)state;
    memset(text, '0', sizeof(text));
    text[0] = '1';
    text[1] = '.';
    text[sizeof(text) - 1] = '5';
    assert_true(tc_number_parse(text, sizeof(text)) == 1.0);
    assert_true(tc_number_parse("1e999", 5) == INFINITY);
    assert_true(tc_number_parse("12345", 3) == 123);
}

/* Only where a locale with a comma is installed: elsewhere this is the test above once more. */
static void numbers_heed_no_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C"};
    struct tc_strbuf buf = TC_STRBUF_INIT;
    size_t i = 0;

    (void)state;
    while (!setlocale(LC_NUMERIC, names[i]))
        i++;
    tc_strbuf_add_number(&buf, 2.5);
    assert_string_equal(buf.text, "2.5");
    assert_true(tc_number_parse("2.5", 3) == 2.5);
    setlocale(LC_NUMERIC, "C");
    tc_strbuf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strbuf_adds_all_kinds),
        cmocka_unit_test(strbuf_takes_and_grows),
        cmocka_unit_test(strbuf_integers),
        cmocka_unit_test(strbuf_escapes_json),
        cmocka_unit_test(utf8_of_every_code),
        cmocka_unit_test(utf8_refuses_what_is_none),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(numbers_look_as_people_write_them),
        cmocka_unit_test(numbers_of_any_length),
        cmocka_unit_test(numbers_heed_no_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
