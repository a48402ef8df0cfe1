/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record.c - lines to records; the table of fields against docs/trace-format.md
 */
#include "unit.h"

#include "base/fs.h"
#include "trace/schema.h"

static struct tc_arena arena;

static enum tc_status parse(const char *line, struct tc_record *out, struct tc_error *err)
{
    tc_arena_reset(&arena);
    return tc_record_parse(line, strlen(line), &arena, out, err);
}

static struct tc_record ok(const char *line)
{
    struct tc_record record;
    struct tc_error err = {TC_OK, ""};

    if (parse(line, &record, &err) != TC_OK)
        fail_msg("%s: %s", line, err.text);
    return record;
}

static void a_call_has_all_its_fields(void **state)
{
    struct tc_record r = ok(
        "{\"type\":\"call\",\"id\":3,\"fn\":\"f\",\"t\":9,\"th\":1,\"step\":2,\"stage\":"
        "\"training\",\"parent\":1,\"by\":\"user\",\"at\":\"a.py:1\",\"self\":{\"object\":\"O\"},"
        "\"args\":{\"x\":1},\"ctx\":{\"grad\":false},\"params\":[1,2],\"uncleared\":[2]}");

    (void)state;
    assert_int_equal(r.type, TC_RECORD_CALL);
    assert_int_equal(r.id, 3);
    assert_int_equal(r.t, 9);
    assert_int_equal(r.th, 1);
    assert_int_equal(r.step, 2);
    assert_int_equal(r.parent, 1);
    assert_true(tc_str_is(r.fn, "f"));
    assert_true(tc_str_is(r.stage, "training"));
    assert_true(tc_str_is(r.by, "user"));
    assert_true(tc_str_is(r.at, "a.py:1"));
    assert_true(tc_value_is(tc_value_get(r.self, "object"), "O"));
    assert_int_equal(tc_value_int(tc_value_get(r.args, "x"), 0), 1);
    assert_int_equal(tc_value_get(r.ctx, "grad")->kind, TC_VALUE_BOOL);
    assert_int_equal(r.params->n, 2);
    assert_int_equal(r.uncleared->items[0].integer, 2);
    assert_null(r.unknown_key.text);
    assert_int_equal(r.line, 0);
}

static void absent_is_told_from_null(void **state)
{
    struct tc_record r = ok("{\"type\":\"return\",\"id\":1,\"t\":2}");

    (void)state;
    assert_null(r.value);
    assert_null(r.same);
    assert_int_equal(r.finite, -1);
    assert_true(r.parent == TC_NONE && r.step == TC_NONE && r.var == TC_NONE);
    assert_null(r.fn.text);
    r = ok("{\"type\":\"return\",\"id\":1,\"t\":2,\"value\":null,\"same\":null,\"finite\":false}");
    assert_int_equal(r.value->kind, TC_VALUE_NULL);
    assert_null(r.same);
    assert_int_equal(r.finite, 0);
}

static void pairs_of_operands_are_told(void **state)
{
    struct tc_record r = ok("{\"type\":\"call\",\"id\":1,\"fn\":\"f\",\"t\":2,\"args\":{},"
                            "\"equal\":[],\"alias\":[[\"args.a\",\"args.b\"]]}");

    (void)state;
    assert_null(r.unknown_key.text);
    assert_int_equal(r.equal->n, 0);
    assert_true(tc_value_is(&r.alias->items[0].items[1], "args.b"));
    r = ok("{\"type\":\"call\",\"id\":1,\"fn\":\"f\",\"t\":2}"); /* as before schema 3 */
    assert_null(r.equal);
    assert_null(r.alias);
}

static void a_source_is_told(void **state)
{
    struct tc_record r = ok("{\"type\":\"source\",\"at\":\"a.py\",\"path\":\"/w/a.py\","
                            "\"digest\":\"00000000000000ff\",\"size\":9,\"lines\":2,"
                            "\"text\":\"x = 1\\ny\"}");

    (void)state;
    assert_int_equal(r.type, TC_RECORD_SOURCE);
    assert_null(r.unknown_key.text);
    assert_true(tc_str_is(r.at, "a.py") && tc_str_is(r.path, "/w/a.py"));
    assert_true(tc_str_is(r.digest, "00000000000000ff") && tc_str_is(r.text, "x = 1\ny"));
    assert_true(r.size == 9 && r.lines == 2);
    r = ok("{\"type\":\"source\",\"at\":\"<stdin>\",\"digest\":\"\"}");
    assert_true(r.size == TC_NONE && r.lines == TC_NONE && r.t == TC_NONE);
    assert_true(!r.text.text && !r.path.text && r.digest.text && r.digest.size == 0);
}

static void keys_may_come_in_any_order(void **state)
{
    struct tc_record r = ok("{\"t\":5,\"attrs\":{},\"zz\":1,\"var\":7,\"yy\":2,\"type\":\"var\","
                            "\"cause\":4,\"name\":\"w\",\"root\":8,\"kind\":\"buffer\"}");

    (void)state;
    assert_int_equal(r.type, TC_RECORD_VAR);
    assert_int_equal(r.var, 7);
    assert_int_equal(r.t, 5);
    assert_int_equal(r.cause, 4);
    assert_int_equal(r.root, 8);
    assert_true(tc_str_is(r.name, "w"));
    assert_true(tc_str_is(r.kind, "buffer"));
    assert_true(tc_str_is(r.unknown_key, "zz"));
}

static void the_first_of_equal_keys_counts(void **state)
{
    struct tc_record r = ok("{\"type\":\"end\",\"t\":1,\"t\":2}");

    (void)state;
    assert_int_equal(r.t, 1);
}

static void other_types_are_unknown(void **state)
{
    struct tc_record r = ok("{\"type\":\"wow\",\"id\":\"x\"}");

    (void)state;
    assert_int_equal(r.type, TC_RECORD_UNKNOWN);
    assert_true(tc_value_is(tc_value_get(r.object, "id"), "x"));
    assert_int_equal(ok("{\"type\":\"\"}").type, TC_RECORD_UNKNOWN);
    assert_int_equal(ok("{\"type\":\"calls\"}").type, TC_RECORD_UNKNOWN);
}

static void errors_name_the_field(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"[]",                                                  "not an object"                          },
        {"{}",                                                  "record without \"type\""                },
        {"{\"type\":1}",                                        "record without \"type\""                },
        {"{\"type\":\"call\",\"id\":1,\"t\":1}",                "call record without \"fn\""             },
        {"{\"type\":\"var\",\"var\":1,\"t\":1}",                "var record without \"attrs\""           },
        {"{\"type\":\"process\",\"pid\":1,\"role\":\"main\"}",  "process record without \"schema\""      },
        {"{\"type\":\"end\",\"t\":null}",                       "end record: \"t\" is not an integer"    },
        {"{\"type\":\"end\",\"t\":1.0}",                        "end record: \"t\" is not an integer"    },
        {"{\"type\":\"end\",\"t\":99999999999999999999}",       "end record: \"t\" is not an integer"    },
        {"{\"type\":\"note\",\"code\":5}",                      "note record: \"code\" is not a string"  },
        {"{\"type\":\"source\",\"at\":\"a.py\"}",               "source record without \"digest\""       },
        {"{\"type\":\"return\",\"id\":1,\"t\":1,\"finite\":1}",
         "return record: \"finite\" is not true or false"                                                },
        {"{\"type\":\"return\",\"id\":1,\"t\":1,\"same\":{}}",
         "return record: \"same\" is not an array"                                                       },
        {"{\"type\":\"var\",\"var\":1,\"t\":1,\"attrs\":[]}",
         "var record: \"attrs\" is not an object"                                                        },
        {"{\"type\":",                                          "byte 9: expected a value, the line ends"},
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct tc_record record;
        struct tc_error err = {TC_OK, ""};

        assert_int_equal(parse(cases[i].line, &record, &err), TC_E_FORMAT);
        assert_string_equal(err.text, cases[i].message);
    }
}

/* Does the cell hold `key`, and only in that cell? */
static bool has_key(const char *cell, const char *end, const char *key)
{
    char quoted[64];
    const char *at;

    snprintf(quoted, sizeof(quoted), "`%s`", key);
    at = strstr(cell, quoted);
    return at && at < end;
}

static size_t count_keys(const char *cell, const char *end)
{
    size_t ticks = 0;

    for (; cell < end; cell++)
        ticks += *cell == '`';
    return ticks / 2;
}

/* The row "| `call` | when | required | optional |". */
static void check_row(const char *page, enum tc_record_type type)
{
    char start[64];
    const char *cells[4];
    size_t n, n_required = 0;
    const struct tc_field *fields = tc_schema_fields(type, &n);

    snprintf(start, sizeof(start), "\n| `%s` |", tc_record_type_text(type));
    cells[0] = strstr(page, start);
    assert_non_null(cells[0]);
    cells[0] += strlen(start);
    for (int i = 1; i < 4; i++)
        assert_non_null(cells[i] = strchr(cells[i - 1] + 1, '|'));
    for (size_t i = 0; i < n; i++) {
        const char *cell = fields[i].is_required ? cells[1] : cells[2];

        if (!has_key(cell, fields[i].is_required ? cells[2] : cells[3], fields[i].key))
            fail_msg("%s: `%s` is not where the page says", tc_record_type_text(type),
                     fields[i].key);
        assert_int_equal(fields[i].size, strlen(fields[i].key));
        n_required += fields[i].is_required;
    }
    assert_int_equal(count_keys(cells[1], cells[2]), n_required);
    assert_int_equal(count_keys(cells[2], cells[3]), n - n_required);
}

static void the_table_is_that_of_the_page(void **state)
{
    struct tc_strbuf page = TC_STRBUF_INIT;
    struct tc_error err;

    (void)state;
    assert_int_equal(
        tc_fs_read(TC_SOURCE_DIR "/docs/trace-format.md", TC_FS_MAX_SMALL, &page, &err), TC_OK);
    for (enum tc_record_type type = TC_RECORD_PROCESS; type < TC_RECORD_UNKNOWN; type++)
        check_row(page.text, type);
    tc_strbuf_release(&page);
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
        cmocka_unit_test(a_call_has_all_its_fields),
        cmocka_unit_test(absent_is_told_from_null),
        cmocka_unit_test(pairs_of_operands_are_told),
        cmocka_unit_test(a_source_is_told),
        cmocka_unit_test(keys_may_come_in_any_order),
        cmocka_unit_test(the_first_of_equal_keys_counts),
        cmocka_unit_test(other_types_are_unknown),
        cmocka_unit_test(errors_name_the_field),
        cmocka_unit_test(the_table_is_that_of_the_page),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
