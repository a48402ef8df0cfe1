/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_attribute.c - which broken facts are changed settings
 */
#include "unit.h"

#include "fact/attribute.h"
#include "replay/symbols.h"

static const struct {
    enum tc_attribute attribute;
    const char *stage, *expected, *seen;
    bool is_setting;
} cases[] = {
    {TC_ATTRIBUTE_VALUE, "training",      "32",      "64",              true },
    {TC_ATTRIBUTE_VALUE, "training",      "\"sum\"", "\"mean\"",        true },
    {TC_ATTRIBUTE_VALUE, "training",      "32",      "\"all\"",         false},
    {TC_ATTRIBUTE_VALUE, "training",      "true",    "false",           false},
    {TC_ATTRIBUTE_VALUE, "training",      "null",    "2",               false},
 /* what a checkpoint has beside the model */
    {TC_ATTRIBUTE_VALUE, "checkpointing", "false",   "true",            true },
    {TC_ATTRIBUTE_VALUE, "checkpointing", "null",    "\"a note\"",      true },
    {TC_ATTRIBUTE_VALUE, "checkpointing", "3",       TC_FACT_AN_OBJECT, false},
    {TC_ATTRIBUTE_KEYS,  "checkpointing", "\"a,b\"", "\"a\"",           false},
    {TC_ATTRIBUTE_SHAPE, "training",      "[32,8]",  "[64,8]",          true },
    {TC_ATTRIBUTE_SHAPE, "training",      "[32,8]",  "[32]",            false},
};

static void a_setting_is_what_the_script_chose(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct tc_fact fact = {.subject = tc_subject_of(TC_SUBJECT_CALL),
                               .path = tc_strtab_intern_text(symbols, "args.obj"),
                               .attribute = cases[i].attribute,
                               .value = tc_strtab_intern_text(symbols, cases[i].expected)};
        fact.subject.fields[TC_FACT_STAGE] = tc_strtab_intern_text(symbols, cases[i].stage);
        if (tc_fact_is_setting(&fact, symbols, tc_strtab_intern_text(symbols, cases[i].seen)) !=
            cases[i].is_setting)
            fail_msg("case %zu, %s: %s becomes %s", i, cases[i].stage, cases[i].expected,
                     cases[i].seen);
    }
    tc_strtab_free(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_is_what_the_script_chose),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
