/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_base64.c - bytes as text and back: the vectors of RFC 4648, and texts that are none
 */
#include "unit.h"

#include "base/base64.h"

static void assert_decodes(const char *text, size_t size, const void *want, size_t n)
{
    struct tc_strbuf out = TC_STRBUF_INIT;
    struct tc_error err = {TC_OK, ""};

    assert_int_equal(tc_base64_decode(text, size, &out, &err), TC_OK);
    assert_int_equal(out.size, n);
    if (n)
        assert_memory_equal(out.text, want, n);
    tc_strbuf_release(&out);
}

static void vectors_of_the_rfc(void **state)
{
    static const char *const vectors[][2] = {
        {"",       ""        },
        {"f",      "Zg=="    },
        {"fo",     "Zm8="    },
        {"foo",    "Zm9v"    },
        {"foob",   "Zm9vYg=="},
        {"fooba",  "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };

    (void)state;
    for (size_t i = 0; i < N_OF(vectors); i++) {
        struct tc_strbuf out = TC_STRBUF_INIT;
        tc_strbuf_adds(&out, "before ");
        tc_base64_add(&out, vectors[i][0], strlen(vectors[i][0]));
        assert_string_equal(out.text + strlen("before "), vectors[i][1]);
        tc_strbuf_release(&out);
        assert_decodes(vectors[i][1], strlen(vectors[i][1]), vectors[i][0], strlen(vectors[i][0]));
    }
}

static void the_last_two_letters(void **state)
{
    const unsigned char bytes[] = {0xfb, 0xff, 0xbf, 0xff};
    struct tc_strbuf out = TC_STRBUF_INIT;

    (void)state;
    tc_base64_add(&out, bytes, sizeof(bytes));
    assert_string_equal(out.text, "+/+//w==");
    assert_decodes(out.text, out.size, bytes, sizeof(bytes));
    tc_strbuf_release(&out);
}

static void any_bytes_come_back(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (size_t n = 0; n < 300; n++) {
        unsigned char bytes[300];
        struct tc_strbuf out = TC_STRBUF_INIT;
        for (size_t i = 0; i < n; i++)
            bytes[i] = (unsigned char)unit_random(&seed);
        tc_base64_add(&out, bytes, n);
        assert_int_equal(out.size, (n + 2) / 3 * 4);
        assert_decodes(out.text, out.size, bytes, n);
        tc_strbuf_release(&out);
    }
}

static void assert_refused(const char *text, size_t size)
{
    struct tc_strbuf out = TC_STRBUF_INIT;
    struct tc_error err = {TC_OK, ""};

    if (tc_base64_decode(text, size, &out, &err) != TC_E_FORMAT)
        fail_msg("not refused: %.*s", (int)size, text);
    assert_non_null(strstr(err.text, "base64"));
    tc_strbuf_release(&out);
}

static void texts_that_are_none(void **state)
{
    static const char *const texts[] = {
        "Z",    "Zg",   "Zm8",  "Zm9vY", "Zg=",       "=",          "====", /* not of fours */
        "Z===", "=Zg=", "Z=g=", "Zg=v",  "Zg==Zm9v",                        /* = but at the end */
        "Zm9-", "Zm9_", "Zm9 ", "Zm9\n", "Zm9v\nZg=", "Zm\xc3\xa9",         /* other letters */
    };

    (void)state;
    for (size_t i = 0; i < N_OF(texts); i++)
        assert_refused(texts[i], strlen(texts[i]));
    assert_refused("Zm\0v", 4);
    assert_refused("\0\0\0\0", 4);
}

static void an_error_names_the_letter(void **state)
{
    struct tc_strbuf out = TC_STRBUF_INIT;
    struct tc_error err = {TC_OK, ""};

    (void)state;
    assert_int_equal(tc_base64_decode("Zm9vYm!y", 8, &out, &err), TC_E_FORMAT);
    assert_non_null(strstr(err.text, "letter 7"));
    tc_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_the_rfc),        cmocka_unit_test(the_last_two_letters),
        cmocka_unit_test(any_bytes_come_back),       cmocka_unit_test(texts_that_are_none),
        cmocka_unit_test(an_error_names_the_letter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
