/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_evidence_io.c - evidence files: what is written comes back, and what is wrong is named
 */
#include "trace_make.h"

#include "relation/evidence_io.h"
#include "replay/symbols.h"

#define HEADER "{\"traincheck\":\"evidence\",\"schema\":2,\"pipelines\":[\"a\",\"b\"]}\n"
#define ROW(more)                                                                     \
    "{\"source\":\"contents\",\"key\":\"step\",\"when\":{\"stage\":\"\\\"init\\\"\"}" \
    ",\"got\":[\"observed\"]" more "}\n"

struct world {
    struct tc_evidence evidence;
    struct tc_error err;
    char *folder, path[600];
    uint64_t n_unknown;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    w->folder = unit_folder();
    snprintf(w->path, sizeof(w->path), "%s/part.tce", w->folder);
    tc_evidence_init(&w->evidence);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    tc_evidence_release(&w->evidence);
    unit_remove(w->folder);
    free(w);
    return 0;
}

static void put_text(struct world *w, const char *text, size_t cut)
{
    struct tc_strbuf file = TC_STRBUF_INIT;

    make_frame(&file, text, strlen(text));
    put_file(w->path, file.text, file.size - cut);
    tc_strbuf_release(&file);
}

static enum tc_status read_text(struct world *w, const char *text)
{
    put_text(w, text, 0);
    return tc_evidence_read(&w->evidence, w->path, &w->n_unknown, &w->err);
}

static void assert_refused(struct world *w, const char *text, enum tc_status status,
                           const char *says)
{
    assert_int_equal(read_text(w, text), status);
    if (!strstr(w->err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", w->err.text, says);
    assert_non_null(strstr(w->err.text, "part.tce"));
}

static void a_row_comes_back(void **state)
{
    struct world *w = *state;
    size_t n;

    assert_int_equal(read_text(w, HEADER ROW(",\"n\":7,\"in\":[\"b\"],\"first\":\"x.py:3\"")),
                     TC_OK);
    assert_int_equal(w->evidence.rows.n, 1);
    const struct tc_row *row = &w->evidence.rows.items[0];
    assert_int_equal(row->count, 7);
    assert_string_equal(tc_strtab_text(w->evidence.symbols, row->key), "step");
    assert_string_equal(tc_strtab_text(w->evidence.symbols, row->first), "x.py:3");
    const struct tc_pair *pairs = tc_row_situation(&w->evidence, row, &n);
    assert_int_equal(n, 1);
    assert_int_equal(pairs[0].field, TC_SYM_F_STAGE);
    const tc_sym *outcome = tc_row_outcome(&w->evidence, row, &n);
    assert_int_equal(n, 1);
    assert_int_equal(outcome[0], TC_SYM_OBSERVED);
    assert_int_equal(w->evidence.pipelines.n, 2);
    assert_int_equal(row->pipelines.n, 1);
}

static void reading_twice_adds_up(void **state)
{
    struct world *w = *state;

    assert_int_equal(read_text(w, HEADER ROW(",\"n\":7,\"in\":[\"b\"],\"first\":\"z\"")), TC_OK);
    assert_int_equal(read_text(w, HEADER ROW(",\"n\":5,\"in\":[\"a\"],\"first\":\"y\"")), TC_OK);
    assert_int_equal(w->evidence.rows.n, 1);
    assert_int_equal(w->evidence.rows.items[0].count, 12);
    assert_int_equal(w->evidence.rows.items[0].pipelines.n, 2);
    assert_string_equal(tc_strtab_text(w->evidence.symbols, w->evidence.rows.items[0].first), "y");
}

static void written_and_read_is_written_again_alike(void **state)
{
    struct world *w = *state;
    struct tc_strbuf one = TC_STRBUF_INIT, two = TC_STRBUF_INIT;
    struct tc_evidence again;

    assert_int_equal(read_text(w, HEADER ROW(",\"n\":7,\"in\":[\"b\",\"a\"]")), TC_OK);
    assert_int_equal(tc_evidence_write(&w->evidence, w->path, &w->err), TC_OK);
    assert_int_equal(tc_fs_read(w->path, TC_FS_MAX_SMALL, &one, &w->err), TC_OK);
    tc_evidence_init(&again);
    assert_int_equal(tc_evidence_read(&again, w->path, &w->n_unknown, &w->err), TC_OK);
    assert_int_equal(tc_evidence_write(&again, w->path, &w->err), TC_OK);
    assert_int_equal(tc_fs_read(w->path, TC_FS_MAX_SMALL, &two, &w->err), TC_OK);
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.text, two.text, one.size);
    tc_strbuf_release(&one);
    tc_strbuf_release(&two);
    tc_evidence_release(&again);
}

#define HEADER_1 "{\"traincheck\":\"evidence\",\"schema\":1,\"pipelines\":[\"a\"]}\n"
#define ROW_1(source, got)                                                  \
    "{\"source\":\"" source "\",\"key\":\"step\",\"when\":{},\"got\":[" got \
    "],\"n\":1,\"in\":[\"a\"]}\n"

static void assert_words(const struct world *w, size_t row, const char *first, const char *second)
{
    size_t n;
    const tc_sym *outcome = tc_row_outcome(&w->evidence, &w->evidence.rows.items[row], &n);

    assert_int_equal(n, 2);
    assert_string_equal(tc_strtab_text(w->evidence.symbols, outcome[0]), first);
    assert_string_equal(tc_strtab_text(w->evidence.symbols, outcome[1]), second);
}

static void the_words_of_schema_1_are_read(void **state)
{
    struct world *w = *state;

    assert_int_equal(read_text(w, HEADER_1 ROW_1("contents", "\"looked\",\"fresh\"")
                                      ROW_1("contents", "\"laden\",\"idle\"") ROW_1(
                                          "sets", "\"set param_group\",\"astray param_group\"")),
                     TC_OK);
    assert_int_equal(w->evidence.rows.n, 3);
    assert_words(w, 0, "observed", "grad_absent");
    assert_words(w, 1, "grad_present", "no_update");
    assert_words(w, 2, "set param_group", "set_idle param_group");
}

static void an_old_word_elsewhere_is_no_mark(void **state)
{
    struct world *w = *state;

    assert_int_equal(read_text(w, HEADER_1 ROW_1("facts", "\"looked\",\"idle\"")), TC_OK);
    assert_words(w, 0, "looked", "idle");
}

static void an_unknown_source_is_counted(void **state)
{
    struct world *w = *state;

    assert_int_equal(
        read_text(w, HEADER "{\"source\":\"of tomorrow\"}\n" ROW(",\"n\":1,\"in\":[\"a\"]")),
        TC_OK);
    assert_int_equal(w->n_unknown, 1);
    assert_int_equal(w->evidence.rows.n, 1);
}

static void what_is_wrong_is_named(void **state)
{
    struct world *w = *state;

    assert_refused(w, "{\"traincheck\":\"invariants\",\"schema\":1}\n", TC_E_FORMAT, "no evidence");
    assert_refused(w, "{\"traincheck\":\"evidence\",\"schema\":9}\n", TC_E_VERSION, "schema 9");
    assert_refused(w, HEADER ROW(",\"in\":[\"a\"]"), TC_E_FORMAT, "\"n\"");
    assert_refused(w, HEADER ROW(",\"n\":0,\"in\":[\"a\"]"), TC_E_FORMAT, "\"n\"");
    assert_refused(w, HEADER ROW(",\"n\":-3,\"in\":[\"a\"]"), TC_E_FORMAT, "\"n\"");
    assert_refused(w, HEADER ROW(",\"n\":1e300,\"in\":[\"a\"]"), TC_E_FORMAT, "\"n\"");
    assert_refused(w, HEADER ROW(",\"n\":1,\"in\":[]"), TC_E_FORMAT, "\"in\"");
    assert_refused(w, HEADER ROW(",\"n\":1,\"in\":[3]"), TC_E_FORMAT, "\"in\"");
    assert_refused(w, HEADER "{\"key\":\"step\"}\n", TC_E_FORMAT, "part.tce:2");
    assert_refused(w, HEADER "{\"source\":\"contents\",\"key\":\"k\",\"n\":1,\"when\":[]}\n",
                   TC_E_FORMAT, "\"when\"");
    assert_refused(w, HEADER "no json\n", TC_E_FORMAT, "part.tce:2");
    assert_refused(w, HEADER ROW(",\"n\":1,\"in\":[\"\xc7\"]"), TC_E_FORMAT, "not UTF-8");
    assert_int_equal(w->evidence.rows.n, 0);
}

static void a_cut_file_is_refused(void **state)
{
    struct world *w = *state;

    put_text(w, HEADER ROW(",\"n\":1,\"in\":[\"a\"]"), 3);
    assert_int_equal(tc_evidence_read(&w->evidence, w->path, &w->n_unknown, &w->err), TC_E_FORMAT);
    assert_non_null(strstr(w->err.text, "cut off"));
    put_file(w->path, "", 0);
    assert_int_equal(tc_evidence_read(&w->evidence, w->path, &w->n_unknown, &w->err), TC_E_FORMAT);
    assert_non_null(strstr(w->err.text, "empty"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_row_comes_back),
        T(reading_twice_adds_up),
        T(written_and_read_is_written_again_alike),
        T(the_words_of_schema_1_are_read),
        T(an_old_word_elsewhere_is_no_mark),
        T(an_unknown_source_is_counted),
        T(what_is_wrong_is_named),
        T(a_cut_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
