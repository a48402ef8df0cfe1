/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_describe.c - one sentence for each invariant: data/texts.jsonl was written by hand
 */
#include "unit.h"

#include "invariant/invariant.h"
#include "relation/relation.h"
#include "replay/symbols.h"

static void read_texts(struct tc_strtab *symbols, struct tc_invariant_set *set)
{
    struct tc_error err = {TC_OK, ""};

    tc_invariant_set_init(set, symbols);
    if (tc_invariant_set_read(set, TC_SOURCE_DIR "/tests/unit/data/texts.jsonl", &err))
        fail_msg("%s", err.text);
}

static void each_sentence_is_as_written(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_invariant_set set;

    (void)state;
    read_texts(symbols, &set);
    assert_true(set.items.n >= 50);
    for (size_t i = 0; i < set.items.n; i++) {
        const struct tc_invariant *x = set.items.items[i];
        const struct tc_relation *relation = tc_relation_find(tc_strtab_text(symbols, x->relation));
        struct tc_strbuf text = TC_STRBUF_INIT;
        assert_null(x->unchecked);
        assert_non_null(relation);
        tc_relation_describe(relation, symbols, x, &text);
        assert_string_equal(text.text, tc_json_text(tc_json_get(x->document, "text")));
        tc_strbuf_release(&text);
    }
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
}

/* What is written can be judged: every relation knows which examples decide about its params. */
static void each_has_a_key_and_a_form(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_invariant_set set;

    (void)state;
    read_texts(symbols, &set);
    for (size_t i = 0; tc_relations[i]; i++) {
        size_t n = 0;
        for (size_t j = 0; j < set.items.n; j++) {
            const struct tc_invariant *x = set.items.items[j];
            if (strcmp(tc_strtab_text(symbols, x->relation), tc_relations[i]->name))
                continue;
            assert_int_not_equal(tc_relation_key(tc_relations[i], symbols, x->params, x->n_params),
                                 TC_NO_SYM);
            n++;
        }
        if (!n)
            fail_msg("no sentence of %s", tc_relations[i]->name);
    }
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
}

/* Params of another form are not understood, and never judged by chance. */
static void params_of_another_form_have_no_key(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    const struct tc_relation *finite = tc_relation_find("APIOutput/finite");
    const struct tc_relation *replica = tc_relation_find("Consistent/replica");
    struct tc_invariant_set set;

    (void)state;
    read_texts(symbols, &set);
    for (size_t i = 0; i < set.items.n; i++) {
        const struct tc_invariant *x = set.items.items[i];
        const char *form = tc_strtab_text(symbols, x->relation);
        if (!strncmp(form, "Consistent/", 11) || !strcmp(form, "EventContain/owned"))
            assert_int_equal(tc_relation_key(finite, symbols, x->params, x->n_params), TC_NO_SYM);
        else
            assert_int_equal(tc_relation_key(replica, symbols, x->params, x->n_params), TC_NO_SYM);
    }
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sentence_is_as_written),
        cmocka_unit_test(each_has_a_key_and_a_form),
        cmocka_unit_test(params_of_another_form_have_no_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
