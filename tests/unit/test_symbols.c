/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbols.c - words with fixed numbers, and words that appear
 */
#include "unit.h"

#include "replay/symbols.h"

static struct tc_str str(const char *text)
{
    return (struct tc_str){text, (uint32_t)strlen(text)};
}

static void known_words_have_their_numbers(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();

    (void)state;
#define X(name, text) assert_int_equal(tc_strtab_intern_text(symbols, text), TC_SYM_##name);
    TC_SYM_MAP(X)
#undef X
    for (enum tc_role role = 0; role < TC_N_ROLES; role++)
        assert_string_equal(tc_strtab_text(symbols, tc_symbols_role(symbols, role)),
                            tc_role_text(role));
    tc_strtab_free(symbols);
}

static void absent_text_is_the_empty_word(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();

    (void)state;
    assert_int_equal(tc_symbols_str(symbols, (struct tc_str){NULL, 0}), TC_SYM_EMPTY);
    assert_int_equal(tc_symbols_str(symbols, str("data")), TC_SYM_DATA);
    tc_strtab_free(symbols);
}

static void joining_is_exact_at_every_length(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    char text[300], want[310];

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        memset(text, 'x', n);
        text[n] = '\0';
        snprintf(want, sizeof(want), "v.attr.%s", text);
        tc_sym sym = tc_symbols_join(symbols, "v.attr.", str(text));
        assert_string_equal(tc_strtab_text(symbols, sym), want);
        assert_int_equal(tc_symbols_text(symbols, sym).size, strlen(want));
    }
    tc_strtab_free(symbols);
}

static void quoting_gives_json(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"training",  "\"training\""      },
        {"",          "\"\""              },
        {"a\"b\\c\n", "\"a\\\"b\\\\c\\n\""},
        {"\xff",      "\"\xef\xbf\xbd\""  },
    };
    struct tc_strtab *symbols = tc_symbols_new();

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_string_equal(tc_strtab_text(symbols, tc_symbols_quote(symbols, str(cases[i].text))),
                            cases[i].json);
    assert_int_equal(tc_symbols_quote(symbols, str("zero")), TC_SYM_ZERO);
    assert_int_equal(tc_symbols_bool(true), TC_SYM_TRUE);
    tc_strtab_free(symbols);
}

static void atoms_are_made_of_words(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    tc_sym long_word, words[3];
    char text[300];
    size_t n;

    (void)state;
    memset(text, 'a', sizeof(text));
    long_word = tc_strtab_intern(symbols, text, sizeof(text));
    tc_sym atom = TC_ATOM(symbols, TC_SYM_CHANGE, TC_SYM_PARAMETER, TC_SYM_DATA);
    assert_string_equal(tc_strtab_text(symbols, atom), "change Parameter data");
    assert_int_equal(TC_ATOM(symbols, TC_SYM_CHANGE, TC_SYM_PARAMETER, TC_SYM_DATA), atom);
    assert_int_equal(tc_strtab_words(symbols, atom, &n)[1], TC_SYM_PARAMETER);
    assert_int_equal(n, 3);
    assert_int_equal(tc_atom_first(symbols, atom), TC_SYM_CHANGE);
    assert_int_equal(tc_atom_first(symbols, TC_SYM_DATA), TC_NO_SYM);
    assert_int_equal(TC_ATOM(symbols, TC_SYM_KEPT), TC_SYM_KEPT);
    atom = TC_ATOM(symbols, long_word, long_word);
    assert_int_equal(tc_strtab_size(symbols, atom), 2 * sizeof(text) + 1);
    assert_true(tc_strtab_split(symbols, atom, words, 2));
    assert_int_equal(words[1], long_word);
    tc_strtab_free(symbols);
}

/* As evidence files have them: the last word has what remains. */
static void texts_are_split_into_words(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    tc_sym text = tc_strtab_intern_text(symbols, "args.mode is \"a b\""), words[5];
    size_t n;

    (void)state;
    assert_null(tc_strtab_words(symbols, text, &n));
    assert_false(tc_strtab_split(symbols, text, words, 5));
    assert_true(tc_strtab_split(symbols, text, words, 3));
    assert_int_equal(words[1], TC_SYM_IS);
    assert_string_equal(tc_strtab_text(symbols, words[2]), "\"a b\"");
    assert_int_equal(tc_strtab_join(symbols, words, 3), text);
    assert_true(tc_strtab_split(symbols, text, words, 2)); /* in fewer than it was made of */
    assert_string_equal(tc_strtab_text(symbols, words[1]), "is \"a b\"");
    assert_false(tc_strtab_split(symbols, TC_SYM_EMPTY, words, 2));
    tc_strtab_free(symbols);
}

static void symbols_are_sorted_by_number(void **state)
{
    tc_sym syms[] = {5, 3, 9, 3, 0};

    (void)state;
    tc_sym_sort(syms, N_OF(syms));
    assert_memory_equal(syms, ((const tc_sym[]){0, 3, 3, 5, 9}), sizeof(syms));
    tc_sym_sort(syms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_words_have_their_numbers),
        cmocka_unit_test(absent_text_is_the_empty_word),
        cmocka_unit_test(joining_is_exact_at_every_length),
        cmocka_unit_test(quoting_gives_json),
        cmocka_unit_test(atoms_are_made_of_words),
        cmocka_unit_test(texts_are_split_into_words),
        cmocka_unit_test(symbols_are_sorted_by_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
