/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_blank.c - APIArg/blank: labels hold no blank
 *
 * A loss that aligns labels with frames has a class of its own for frames without a label, the
 * blank. No label has its number: such a label can never be written.
 *
 * There is an example for each call that gets a `blank` and integers as `targets`. The labels of
 * a vector follow each other. Rows of a matrix are padded: there the blank is among the labels if
 * it comes more often than rows as short as the shortest have places to pad.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"

/* Places that may be filled up; -1 where that is not recorded. */
static int64_t count_filled(const struct tc_call *call, const struct tc_value *targets)
{
    const struct tc_value *lengths = tc_value_get(call->args, "target_lengths");
    const int64_t least = tc_value_int(tc_value_get(tc_value_get(lengths, "summary"), "min"), -1);
    const int64_t n = tc_n_dimensions(targets);

    if (n == 1)
        return 0;
    if (n != 2 || least < 0)
        return -1;
    return tc_size_of(targets, 0) * (tc_size_of(targets, 1) - least);
}

/* How often the number stands in the tensor, one for any number of times; -1: not recorded. */
static int64_t count_of(const struct tc_value *summary, int64_t number)
{
    if (number == 0 || number == 1)
        return tc_value_int(tc_value_get(summary, number ? "one" : "zero"), -1);
    const int64_t least = tc_value_int(tc_value_get(summary, "min"), number),
                  most = tc_value_int(tc_value_get(summary, "max"), number);
    return least == number || most == number ? 1 : number < least || number > most ? 0 : -1;
}

static void blank_judge(const struct tc_hearing *h)
{
    const struct tc_value *args = h->event->call->args, *blank = tc_value_get(args, "blank"),
                          *targets = tc_value_get(args, "targets");

    if (!blank || blank->kind != TC_VALUE_INT || !tc_value_get(targets, "summary"))
        return;
    const int64_t filled = count_filled(h->event->call, targets);
    const int64_t n = count_of(tc_value_get(targets, "summary"), blank->integer);
    if (filled >= 0 && n >= 0)
        tc_answer(h, n <= filled);
}

const struct tc_relation_rule tc_rule_blank = {
    TC_RULE(tc_rule_blank),
    .form.name = "APIArg/blank",
    .form.summary = "labels hold no blank",
    .form.hint =
        "Are labels numbered from the place behind the blank, and is the blank the right one?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_content = true,
    .source.name = "blank",
    .source.judged = "the return of a loss that is given a blank",
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGETS, TC_SYM_IS, TC_SYM_NOT_BLANK),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_FALSE, TC_SYM_TRUE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected = "the labels that %c is given hold no blank",
    .claim.seen = "a label has the number of the blank, so that it can never be written",
    .at = TC_AT(FUNCTION),
    .judge = blank_judge,
};
