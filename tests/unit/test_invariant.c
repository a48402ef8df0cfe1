/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_invariant.c - the invariant file
 */
#include "unit.h"

#include "base/fs.h"
#include "check/engine.h"
#include "replay/symbols.h"

struct fixture {
    char *folder, *path;
    struct tc_strtab *symbols;
    struct tc_invariant_set set;
    struct tc_error err;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->folder = unit_folder();
    f->path = tc_fs_join(f->folder, "i.jsonl");
    f->symbols = tc_symbols_new();
    tc_invariant_set_init(&f->set, f->symbols);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    tc_invariant_set_release(&f->set);
    tc_strtab_free(f->symbols);
    tc_free(f->path);
    unit_remove(f->folder);
    free(f);
    return 0;
}

static enum tc_status read_text(struct fixture *f, const char *text)
{
    assert_int_equal(tc_fs_write(f->path, text, strlen(text), NULL), TC_OK);
    return tc_invariant_set_read(&f->set, f->path, &f->err);
}

static char *print(const struct fixture *f)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_invariant_set_print(&f->set, f->set.header ? tc_json_copy(f->set.header) : NULL, &text);
    return tc_strbuf_take(&text);
}

#define HEADER  "{\"traincheck\":\"invariants\",\"schema\":1}\n"
#define CALL(x) "{\"call\":\"" x "\"}"
#define SOME(call, more)                                                            \
    "{\"id\":\"EC-00000000\",\"relation\":\"EventContain/some\",\"params\":[" CALL( \
        call) ",{\"change\":\"Parameter\",\"attr\":"                                \
              "\"data\",\"to\":\"changed\"}]" more "}\n"

static void unknown_keys_are_kept(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        read_text(
            f,
            "{\"traincheck\":\"invariants\",\"schema\":1,\"from\":[\"a\"],\"colour\":\"red\"}\n" SOME(
                "f", ",\"when\":[],\"author\":{\"name\":\"me\",\"at\":[1,2.5,null]}")),
        TC_OK);
    char *text = print(f);
    assert_non_null(strstr(text, "\"colour\":\"red\""));
    assert_non_null(strstr(text, "\"author\":{\"name\":\"me\",\"at\":[1,2.5,null]}"));
    tc_free(text);
}

static void writing_what_was_read_is_stable(void **state)
{
    struct fixture *f = *state;
    void *other;

    assert_int_equal(
        read_text(
            f,
            HEADER SOME(
                "f",
                ",\"when\":[{\"field\":\"stage\",\"not\":\"init\"},{\"field\":\"self.lr\",\"is\":null}],"
                "\"text\":\"x\",\"evidence\":{\"held\":3,\"broken\":0,\"excluded\":1,\"pipelines\":2,"
                "\"contexts\":{\"world\":[\"one\",\"many\"],\"closure\":[]}}")),
        TC_OK);
    char *once = print(f);
    setup(&other);
    assert_int_equal(read_text(other, once), TC_OK);
    char *twice = print(other);
    assert_string_equal(once, twice);
    tc_free(once);
    tc_free(twice);
    teardown(&other);
}

static const char *why_unchecked(struct fixture *f, const char *line)
{
    assert_int_equal(read_text(f, line), TC_OK);
    struct tc_engine *engine = tc_engine_new(&f->set, f->symbols);
    assert_int_equal(tc_engine_count(engine), 1);
    const struct tc_judgement *j = tc_engine_judgement(engine, 0);
    const char *why = j->invariant->unchecked;
    assert_int_equal(tc_engine_verdict(j), why ? TC_VERDICT_UNCHECKED : TC_VERDICT_NOT_TRIGGERED);
    tc_engine_free(engine);
    return why;
}

/* want: a word of the reason; NULL for what can be checked. */
static void assert_unchecked(const char *const *lines, size_t n, const char *want)
{
    for (size_t i = 0; i < n; i++) {
        void *fresh;
        setup(&fresh);
        const char *why = why_unchecked(fresh, lines[i]);
        if (!why != !want || (why && !strstr(why, want)))
            fail_msg("%s: %s", lines[i], why ? why : "checked");
        teardown(&fresh);
    }
}

#define BAD_PARAMS(params) "{\"relation\":\"EventContain/some\",\"params\":" params "}"
#define BAD_WHEN(when)     SOME("f", ",\"when\":" when)

static void what_is_not_understood_is_unchecked(void **state)
{
    static const char *const relations[] = {
        "{\"relation\":\"Newer/form\",\"params\":[" CALL("f") "]}"};
    static const char *const params[] = {
        "{\"relation\":\"EventContain/some\"}",
        BAD_PARAMS("{}"),
        BAD_PARAMS("[]"),
        BAD_PARAMS("[3]"),
        BAD_PARAMS("[{\"call\":7}]"),
        BAD_PARAMS("[{\"planet\":\"x\"}]"),
        BAD_PARAMS("[" CALL("f") "]"),
        BAD_PARAMS("[" CALL("f") ",{\"change\":\"Parameter\"}]"),
        "{\"relation\":\"EventContain/each\",\"params\":[" CALL("f") "," CALL("g") "]}",
        "{\"relation\":\"APISequence/window\",\"params\":[" CALL("f") "]}",
    };
    static const char *const whens[] = {
        BAD_WHEN("{}"),
        BAD_WHEN("[{\"field\":\"stage\"}]"),
        BAD_WHEN("[{\"field\":\"stage\",\"is\":1,\"not\":2}]"),
        BAD_WHEN("[{\"is\":true}]"),
        BAD_WHEN("[{\"field\":\"stage\",\"between\":[1,2]}]"),
        BAD_WHEN(
            "[{\"field\":\"a\",\"is\":1},{\"field\":\"b\",\"is\":1},{\"field\":\"c\",\"is\":1},{\"field\":\"d\",\"is\":1}]"),
    };
    const char *understood = SOME("f", "");

    (void)state;
    assert_unchecked(&understood, 1, NULL);
    assert_unchecked(relations, N_OF(relations), "relation");
    assert_unchecked(params, N_OF(params), "params");
    assert_unchecked(whens, N_OF(whens), "precondition");
}

static void what_is_not_understood_is_kept_as_it_came(void **state)
{
    struct fixture *f = *state;
    const char *line =
        "{\"relation\":\"Newer/form\",\"params\":[{\"planet\":\"x\"}],\"when\":[{\"field\":\"a\",\"near\":2}],\"id\":\"NE-1\"}\n";

    assert_int_equal(read_text(f, line), TC_OK);
    char *text = print(f);
    assert_string_equal(text, line);
    tc_free(text);
}

static void a_newer_schema_is_refused_by_number(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, "{\"traincheck\":\"invariants\",\"schema\":7}\n"), TC_E_VERSION);
    assert_non_null(strstr(f->err.text, "7"));
    assert_non_null(strstr(f->err.text, "1"));
    assert_non_null(strstr(f->err.text, "i.jsonl:1: "));
}

static void a_bad_line_is_named(void **state)
{
    static const char *const bad[] = {
        "not json", "[]", "7", "{}", "{\"relation\":3}", "{\"traincheck\":\"evidence\"}"};

    (void)state;
    for (size_t i = 0; i < N_OF(bad); i++) {
        char text[500];
        void *fresh;
        setup(&fresh);
        struct fixture *f = fresh;
        snprintf(text, sizeof(text), "%s\n%s%s\n%s", HEADER, SOME("f", ""), bad[i], SOME("g", ""));
        assert_int_equal(read_text(f, text), TC_E_FORMAT);
        if (!strstr(f->err.text, "i.jsonl:4: "))
            fail_msg("%s: %s", bad[i], f->err.text);
        teardown(&fresh);
    }
}

static void an_empty_file_is_an_error(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, ""), TC_E_FORMAT);
    assert_int_equal(read_text(f, "\n \n"), TC_E_FORMAT);
    assert_int_equal(read_text(f, HEADER), TC_OK);
    assert_int_equal(f->set.items.n, 0);
}

static void no_header_is_schema_one(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, SOME("f", "")), TC_OK);
    assert_int_equal(f->set.items.n, 1);
}

static void files_can_be_concatenated(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, HEADER SOME("f", "") "\r\n" HEADER SOME("g", "")), TC_OK);
    assert_int_equal(f->set.items.n, 2);
}

static void equal_invariants_count_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, SOME("f", "") SOME("f", ",\"text\":\"again\"")), TC_OK);
    assert_int_equal(f->set.items.n, 1);
    assert_int_equal(read_text(f, SOME("f", "")), TC_OK); /* the same of another file */
    assert_int_equal(f->set.items.n, 1);
    assert_int_equal(read_text(f, SOME("f", ",\"when\":[{\"field\":\"stage\",\"is\":\"init\"}]")),
                     TC_OK);
    assert_int_equal(read_text(f, SOME("f", ",\"when\":[{\"field\":\"stage\",\"not\":\"init\"}]")),
                     TC_OK);
    assert_int_equal(read_text(f, SOME("g", "")), TC_OK);
    assert_int_equal(f->set.items.n, 4);
}

static void the_id_depends_on_relation_and_params_alone(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, SOME("f", "")
                                      SOME("f", ",\"when\":[{\"field\":\"stage\",\"is\":\"init\"}]")
                                          SOME("g", "")),
                     TC_OK);
    const struct tc_invariant *const *x = (const struct tc_invariant *const *)f->set.items.items;
    assert_int_equal(strlen(x[0]->id), strlen("EC-00000000"));
    assert_int_equal(strncmp(x[0]->id, "EC-", 3), 0);
    assert_string_equal(x[0]->id, x[1]->id);
    assert_string_not_equal(x[0]->id, x[2]->id);
}

static void order_does_not_depend_on_order(void **state)
{
    struct fixture *f = *state;
    void *other;

    assert_int_equal(read_text(f, SOME("f", "") SOME("g", "") SOME(
                                      "f", ",\"when\":[{\"field\":\"stage\",\"is\":\"init\"}]")),
                     TC_OK);
    setup(&other);
    struct fixture *o = other;
    tc_strtab_intern_text(o->symbols, "g"); /* other numbers */
    assert_int_equal(read_text(o, SOME("f", ",\"when\":[{\"field\":\"stage\",\"is\":\"init\"}]")
                                      SOME("g", "") SOME("f", "")),
                     TC_OK);
    tc_invariant_set_sort(&f->set);
    tc_invariant_set_sort(&o->set);
    char *one = print(f), *two = print(o);
    assert_string_equal(one, two);
    tc_free(one);
    tc_free(two);
    teardown(&other);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(unknown_keys_are_kept),
        T(writing_what_was_read_is_stable),
        cmocka_unit_test(what_is_not_understood_is_unchecked),
        T(what_is_not_understood_is_kept_as_it_came),
        T(a_newer_schema_is_refused_by_number),
        cmocka_unit_test(a_bad_line_is_named),
        T(an_empty_file_is_an_error),
        T(no_header_is_schema_one),
        T(files_can_be_concatenated),
        T(equal_invariants_count_once),
        T(the_id_depends_on_relation_and_params_alone),
        T(order_does_not_depend_on_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
