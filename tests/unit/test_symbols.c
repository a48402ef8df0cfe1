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
    assert_int_equal(tc_strtab_count(symbols), TC_SYM_KNOWN_COUNT);
#define X(name, text) assert_int_equal(tc_strtab_intern_text(symbols, text), TC_SYM_##name);
    TC_SYM_MAP(X)
#undef X
    assert_int_equal(tc_strtab_count(symbols), TC_SYM_KNOWN_COUNT);
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

static void words_are_joined_at_every_length(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    char a[300], b[300], want[700];

    (void)state;
    for (size_t n = 1; n < sizeof(a); n++) { /* n + 1 bytes with the zero */
        memset(a, 'a', n);
        memset(b, 'b', n);
        a[n] = b[n] = '\0';
        snprintf(want, sizeof(want), "%s %s", a, b);
        tc_sym sym = tc_symbols_words(symbols, (const char *const[]){a, b}, 2);
        assert_string_equal(tc_strtab_text(symbols, sym), want);
        assert_int_equal(tc_strtab_size(symbols, sym), 2 * n + 1);
    }
    assert_int_equal(tc_symbols_words(symbols, (const char *const[]){"kept"}, 1), TC_SYM_KEPT);
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
        cmocka_unit_test(words_are_joined_at_every_length),
        cmocka_unit_test(symbols_are_sorted_by_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
