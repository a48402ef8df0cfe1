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

static bool is_setting(enum tc_attribute attribute, const char *const words[5])
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_fact fact = {.subject = tc_subject_of(TC_SUBJECT_CALL),
                           .path = tc_strtab_intern_text(symbols, words[2]),
                           .attribute = attribute,
                           .value = tc_strtab_intern_text(symbols, words[3])};

    fact.subject.fields[TC_FACT_STAGE] = tc_strtab_intern_text(symbols, words[0]);
    fact.subject.fields[TC_FACT_FN] = tc_strtab_intern_text(symbols, words[1]);
    const bool is = tc_fact_is_setting(&fact, symbols, tc_strtab_intern_text(symbols, words[4]));
    tc_strtab_free(symbols);
    return is;
}

static void a_setting_is_what_the_script_chose(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *const words[] = {cases[i].stage, "__main__.run", "args.obj", cases[i].expected,
                                     cases[i].seen};
        if (is_setting(cases[i].attribute, words) != cases[i].is_setting)
            fail_msg("case %zu, %s: %s becomes %s", i, cases[i].stage, cases[i].expected,
                     cases[i].seen);
    }
}

static void what_torch_computes_over_is_none(void **state)
{
    static const char *const laws[][5] = {
        {"training", "torch.softmax",        "args.dim",       "1",             "0"       },
        {"training", "torch.Tensor.permute", "args.dims[0]",   "0",             "1"       },
        {"training", "torch.nn.KLDivLoss",   "args.reduction", "\"batchmean\"", "\"mean\""},
    };
    static const char *const widths[][5] = {
        {"training", "torch.nn.Linear", "args.dimension", "64", "128"},
        {"training", "__main__.Block",  "args.dim",       "64", "128"},
        {"training", "torch.split",     "value.dim",      "64", "128"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(laws) / sizeof(*laws); i++)
        assert_false(is_setting(TC_ATTRIBUTE_VALUE, laws[i]));
    for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
        assert_true(is_setting(TC_ATTRIBUTE_VALUE, widths[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_is_what_the_script_chose),
        cmocka_unit_test(what_torch_computes_over_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
