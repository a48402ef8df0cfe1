/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_consequence.c - which broken laws follow from a changed setting by their size
 */
#include "unit.h"

#include "check/consequence.h"
#include "relation/relation.h"
#include "replay/symbols.h"

#define N_VIOLATIONS 3

/* A setting, then what may follow from it, and what from that. */
struct judged {
    struct tc_strtab *symbols;
    struct tc_fact facts[N_VIOLATIONS];
    struct tc_invariant invariants[N_VIOLATIONS];
    tc_sym outcomes[N_VIOLATIONS];
    struct tc_violation violations[N_VIOLATIONS];
};

static void set_violation(struct judged *judged, size_t i, enum tc_attribute attribute,
                          const char *expected, const char *seen)
{
    judged->facts[i] = (struct tc_fact){.attribute = attribute,
                                        .path = tc_strtab_intern_text(judged->symbols, "args.size"),
                                        .value = tc_strtab_intern_text(judged->symbols, expected)};
    judged->invariants[i] = (struct tc_invariant){.n_params = 1};
    judged->invariants[i].params[0] = tc_param_fact(&judged->facts[i]);
    judged->outcomes[i] = tc_strtab_intern_text(judged->symbols, seen);
    judged->violations[i] = (struct tc_violation){.invariant = &judged->invariants[i],
                                                  .relation = tc_relation_find("APIArg/value"),
                                                  .outcome = &judged->outcomes[i],
                                                  .n_outcome = 1};
}

/* Of the first n: is the last one a setting, beside the first, which is one? */
static bool follows(struct judged *judged, size_t n)
{
    struct tc_violation *const violations[] = {&judged->violations[0], &judged->violations[1],
                                               &judged->violations[2]};

    judged->violations[0].is_setting = true;
    tc_consequences_mark(violations, n, NULL, 0, judged->symbols);
    return judged->violations[n - 1].is_setting;
}

static const struct {
    enum tc_attribute setting;
    const char *from, *to;
    enum tc_attribute law;
    const char *expected, *seen;
    bool follows;
} cases[] = {
  /* a batch of 64 for one of 32 */
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_LENGTH,      "32", "64",  true },
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_LENGTH,      "50", "100", true },
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_LENGTH,      "32", "48",  false},
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_COUNT,       "34", "66",  true },
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_COUNT_FIRST, "10", "5",   true },
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_COUNT,       "1",  "2",   true },
    {TC_ATTRIBUTE_VALUE, "32",       "96",       TC_ATTRIBUTE_COUNT,       "1",  "2",   false},
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_COUNT,       "1",  "0",   false},
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_LENGTH,      "16", "8",   true },
 /* 7 is no multiple of 2 */
    {TC_ATTRIBUTE_VALUE, "32",       "16",       TC_ATTRIBUTE_COUNT,       "7",  "3",   true },
    {TC_ATTRIBUTE_VALUE, "32",       "16",       TC_ATTRIBUTE_COUNT,       "7",  "5",   false},
 /* "the first 25" of 32 and of 16 */
    {TC_ATTRIBUTE_VALUE, "32",       "16",       TC_ATTRIBUTE_COUNT_FIRST, "25", "16",  true },
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_COUNT_FIRST, "25", "40",  false},
 /* a step tells of 32 calls of a function at most */
    {TC_ATTRIBUTE_VALUE, "12",       "24",       TC_ATTRIBUTE_COUNT,       "24", "32",  true },
    {TC_ATTRIBUTE_VALUE, "12",       "15",       TC_ATTRIBUTE_COUNT,       "24", "32",  false},
    {TC_ATTRIBUTE_VALUE, "12",       "24",       TC_ATTRIBUTE_LENGTH,      "24", "32",  false},
    {TC_ATTRIBUTE_VALUE, "32",       "48",       TC_ATTRIBUTE_COUNT,       "32", "20",  false},
 /* a shape tells of what was lost, too */
    {TC_ATTRIBUTE_SHAPE, "[8,4,3]",  "[8,6,3]",  TC_ATTRIBUTE_LENGTH,      "4",  "6",   false},
    {TC_ATTRIBUTE_SHAPE, "[256,48]", "[64,48]",  TC_ATTRIBUTE_COUNT,       "1",  "4",   false},
 /* no amount, or no number */
    {TC_ATTRIBUTE_VALUE, "32",       "64",       TC_ATTRIBUTE_NDIM,        "2",  "4",   false},
    {TC_ATTRIBUTE_VALUE, "\"sum\"",  "\"mean\"", TC_ATTRIBUTE_LENGTH,      "32", "64",  false},
};

static void an_amount_follows_from_the_setting_that_accounts_for_it(void **state)
{
    struct judged judged = {.symbols = tc_symbols_new()};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        set_violation(&judged, 0, cases[i].setting, cases[i].from, cases[i].to);
        set_violation(&judged, 1, cases[i].law, cases[i].expected, cases[i].seen);
        if (follows(&judged, 2) != cases[i].follows)
            fail_msg("case %zu: %s becomes %s where a setting of %s becomes %s", i,
                     cases[i].expected, cases[i].seen, cases[i].from, cases[i].to);
    }
    tc_strtab_free(judged.symbols);
}

static void a_setting_of_another_run_accounts_for_nothing(void **state)
{
    struct judged judged = {.symbols = tc_symbols_new()};

    (void)state;
    set_violation(&judged, 0, TC_ATTRIBUTE_VALUE, "32", "64");
    set_violation(&judged, 1, TC_ATTRIBUTE_LENGTH, "32", "64");
    judged.violations[1].first.run = 1;
    assert_false(follows(&judged, 2));
    tc_strtab_free(judged.symbols);
}

static void a_law_accounts_for_nothing(void **state)
{
    struct judged judged = {.symbols = tc_symbols_new()};
    struct tc_violation *const violations[] = {&judged.violations[0], &judged.violations[1]};

    (void)state;
    set_violation(&judged, 0, TC_ATTRIBUTE_VALUE, "32", "64");
    set_violation(&judged, 1, TC_ATTRIBUTE_LENGTH, "32", "64");
    tc_consequences_mark(violations, 2, NULL, 0, judged.symbols);
    assert_false(judged.violations[1].is_setting);
    tc_strtab_free(judged.symbols);
}

static void what_the_command_line_chose_accounts_for_an_amount(void **state)
{
    struct judged judged = {.symbols = tc_symbols_new()};
    struct tc_violation *const violations[] = {&judged.violations[1]};
    const struct tc_chosen chosen[] = {
        {1, 4, 8},
        {0, 4, 8}
    };

    (void)state;
    set_violation(&judged, 1, TC_ATTRIBUTE_LENGTH, "16", "32");
    tc_consequences_mark(violations, 1, chosen, 1, judged.symbols); /* of another run */
    assert_false(judged.violations[1].is_setting);
    tc_consequences_mark(violations, 1, chosen, 2, judged.symbols);
    assert_true(judged.violations[1].is_setting);
    tc_strtab_free(judged.symbols);
}

/* What is made once in each step for 32 rows is made in every second one for 16. */
static void what_comes_in_a_share_of_the_steps_follows_where_the_share_does(void **state)
{
    static const struct {
        uint64_t broken, held;
        bool follows;
    } shares[] = {
        {20, 20, true },
        {20, 19, true },
        {30, 10, false},
        {40, 0,  false},
    };
    struct judged judged = {.symbols = tc_symbols_new()};

    (void)state;
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        set_violation(&judged, 0, TC_ATTRIBUTE_VALUE, "32", "16");
        set_violation(&judged, 1, TC_ATTRIBUTE_COUNT, "1", "0");
        judged.violations[1].count = shares[i].broken;
        judged.violations[1].held = shares[i].held;
        assert_int_equal(follows(&judged, 2), shares[i].follows);
    }
    tc_strtab_free(judged.symbols);
}

/* All of a small batch is cut off, or it is by chance as one before: not so elsewhere, where the
 * size is what it was. */
static void what_a_call_is_given_another_size_of_may_be_alike(void **state)
{
    struct judged judged = {.symbols = tc_symbols_new()};

    (void)state;
    for (unsigned is_elsewhere = 0; is_elsewhere < 2; is_elsewhere++) {
        set_violation(&judged, 0, TC_ATTRIBUTE_VALUE, "32", "16");
        set_violation(&judged, 1, TC_ATTRIBUTE_SHAPE, "[32,1,8]", "[16,1,8]");
        set_violation(&judged, 2, TC_ATTRIBUTE_EQUALS, "\"\"", "\"input\"");
        judged.facts[1].subject = judged.facts[2].subject = tc_subject_of(TC_SUBJECT_CALL);
        judged.facts[2].subject.fields[TC_FACT_IN] =
            is_elsewhere ? tc_strtab_intern_text(judged.symbols, "elsewhere") : TC_NO_SYM;
        assert_int_equal(follows(&judged, 3), !is_elsewhere);
    }
    set_violation(&judged, 1, TC_ATTRIBUTE_SHAPE, "[32,1,8]", "[32,1,7]"); /* of no batch */
    judged.facts[1].subject = judged.facts[2].subject;
    assert_false(follows(&judged, 3));
    tc_strtab_free(judged.symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_amount_follows_from_the_setting_that_accounts_for_it),
        cmocka_unit_test(a_setting_of_another_run_accounts_for_nothing),
        cmocka_unit_test(a_law_accounts_for_nothing),
        cmocka_unit_test(what_the_command_line_chose_accounts_for_an_amount),
        cmocka_unit_test(what_comes_in_a_share_of_the_steps_follows_where_the_share_does),
        cmocka_unit_test(what_a_call_is_given_another_size_of_may_be_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
