/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pickle.c - plain data out of pickles, and nothing else
 */
#include "unit.h"

#include "base/pickle.h"

struct pickle {
    const char *bytes;
    size_t size;
    const char *is; /* as JSON, or a part of the error */
};

#define PICKLE(bytes, is)                 \
    {                                     \
        (bytes), sizeof(bytes) - 1, (is), \
    }

/* Made by Python: pickle.dumps(value, protocol=2), but for the last three. */
static const struct pickle plain[] = {
    PICKLE("\x80\x02N.", "null"),
    PICKLE("\x80\x02\x88.", "true"),
    PICKLE("\x80\x02K\x07.", "7"),
    PICKLE("\x80\x02M\x2c\x01.", "300"),
    PICKLE("\x80\x02J\xff\xff\xff\xff.", "-1"),
    PICKLE("\x80\x02\x8a\x05\x00\x00\x00\x00\x01.", "4294967296"),
    PICKLE("\x80\x02\x8a\x00.", "0"),
    PICKLE("\x80\x02G?\xf8\x00\x00\x00\x00\x00\x00.", "1.5"),
    PICKLE("\x80\x02)]q\x00\x86q\x01.", "[[],[]]"),
    PICKLE("\x80\x02}q\x00X\x01\x00\x00\x00"
           "aq\x01]q\x02(K\x01K\x02\x86q\x03NX\x02\x00\x00\x00\xc3\xa9q\x04"
           "es.",
           "{\"a\":[[1,2],null,\"\xc3\xa9\"]}"),
    /* the memo: a key again as a value, and a list twice */
    PICKLE("\x80\x02}(X\x01\x00\x00\x00"
           "aq\x00h\x00X\x01\x00\x00\x00"
           "b]q\x01K\x01"
           "aX\x01\x00\x00\x00"
           "ch\x01u.",
           "{\"a\":\"a\",\"b\":[1],\"c\":[1]}"),
    PICKLE("(K\x01K\x02K\x03t.", "[1,2,3]"),
    PICKLE("\x80\x04\x95\x07\x00\x00\x00\x00\x00\x00\x00]\x94\x8c\x01x\x94"
           "a.",
           "[\"x\"]"),
};

static const struct pickle refused[] = {
    PICKLE("", "byte 0: the pickle ends here"),
    PICKLE("\x80\x02K", "byte 3: the pickle ends here"),
    PICKLE("\x80\x02X\xff\xff\xff\xff.", "the pickle ends here"),
    PICKLE("cos\nsystem\n(X\x02\x00\x00\x00lstR.", "byte 0: an opcode that plain data"),
    PICKLE("K\x01K\x02.", "no single value"),
    PICKLE("(.", "no single value"),
    PICKLE("}K\x01K\x02s.", "a key is no string"),
    PICKLE("}(X\x01\x00\x00\x00kK\x01X\x01\x00\x00\x00kK\x02u.", "a key is there twice"),
    PICKLE("K\x01K\x02"
           "a.",
           "no list"),
    PICKLE("h\x00.", "not remembered"),
    PICKLE("Kq\xff.", "opcode"),
    PICKLE("u.", "no mark"),
    PICKLE("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", "too large"),
    PICKLE("X\x01\x00\x00\x00\x00.", "NUL"),
    PICKLE("\x86.", "a tuple lacks elements"),
};

static void plain_data_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(plain); i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        struct tc_json *json;
        struct tc_error err = {TC_OK, ""};

        assert_int_equal(tc_pickle_parse(plain[i].bytes, plain[i].size, &json, &err), TC_OK);
        tc_json_print(json, &text);
        assert_string_equal(text.text, plain[i].is);
        tc_strbuf_release(&text);
        tc_json_free(json);
    }
}

static void all_else_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(refused); i++) {
        struct tc_json *json;
        struct tc_error err = {TC_OK, ""};

        assert_int_equal(tc_pickle_parse(refused[i].bytes, refused[i].size, &json, &err),
                         TC_E_FORMAT);
        assert_null(json);
        if (!strstr(err.text, refused[i].is))
            fail_msg("%s: not %s", err.text, refused[i].is);
    }
}

/* A list of itself, doubled each time: 2^40 nodes from some hundred bytes. */
static void copies_of_copies_are_counted(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_json *json;
    struct tc_error err = {TC_OK, ""};

    (void)state;
    tc_strbuf_add(&bytes, "]q\0", 3);
    for (int i = 0; i < 40; i++)
        tc_strbuf_add(&bytes, "h\0h\0\x86q\0", 7);
    tc_strbuf_addc(&bytes, '.');
    assert_int_equal(tc_pickle_parse(bytes.text, bytes.size, &json, &err), TC_E_FORMAT);
    assert_non_null(strstr(err.text, "the pickle holds too much"));
    tc_strbuf_release(&bytes);
}

static void depth_is_bounded(void **state)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_json *json;
    struct tc_error err = {TC_OK, ""};

    (void)state;
    for (int i = 0; i < 100000; i++)
        tc_strbuf_addc(&bytes, ']');
    for (int i = 1; i < 100000; i++)
        tc_strbuf_addc(&bytes, 'a');
    tc_strbuf_addc(&bytes, '.');
    assert_int_equal(tc_pickle_parse(bytes.text, bytes.size, &json, &err), TC_E_FORMAT);
    assert_non_null(strstr(err.text, "nested too deeply"));
    tc_strbuf_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_data_is_read),
        cmocka_unit_test(all_else_is_refused),
        cmocka_unit_test(copies_of_copies_are_counted),
        cmocka_unit_test(depth_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
