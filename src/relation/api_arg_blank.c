/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_blank.c - APIArg/blank: labels hold no blank
 *
 * A loss that aligns labels with frames has a class of its own for frames without a label, the
 * blank. No label has its number: one that has can never be written.
 *
 * An example for each call that is given a `blank` and whole numbers as `targets`. Those of a
 * vector stand one behind the other. Of a matrix rows are filled up: there the blank is among the
 * labels where it comes more often than rows as short as the shortest have places to fill.
 */
#include "relation/claims.h"

#include "replay/symbols.h"

static bool has_dimensions(const struct tc_value *shape, uint32_t n)
{
    return shape && shape->kind == TC_VALUE_ARRAY && shape->n == n;
}

/* Places that may be filled up; -1 where that is not told. */
static int64_t count_filled(const struct tc_call *call, const struct tc_value *shape)
{
    const struct tc_value *lengths = tc_value_get(call->args, "target_lengths");
    const int64_t least = tc_value_int(tc_value_get(tc_value_get(lengths, "summary"), "min"), -1);

    if (has_dimensions(shape, 1))
        return 0;
    if (!has_dimensions(shape, 2) || least < 0)
        return -1;
    return tc_value_int(&shape->items[0], 0) * (tc_value_int(&shape->items[1], 0) - least);
}

/* How often the number stands in the tensor, one for any number of times; -1: that is not told. */
static int64_t count_of(const struct tc_value *summary, int64_t number)
{
    if (number == 0 || number == 1)
        return tc_value_int(tc_value_get(summary, number ? "one" : "zero"), -1);
    const int64_t least = tc_value_int(tc_value_get(summary, "min"), number),
                  most = tc_value_int(tc_value_get(summary, "max"), number);
    return least == number || most == number ? 1 : number < least || number > most ? 0 : -1;
}

/* TC_NO_SYM: that cannot be told. */
static tc_sym outcome_of(const struct tc_call *call)
{
    const struct tc_value *blank = tc_value_get(call->args, "blank"),
                          *targets = tc_value_get(call->args, "targets");

    if (!blank || blank->kind != TC_VALUE_INT || !tc_value_get(targets, "summary"))
        return TC_NO_SYM;
    const int64_t filled = count_filled(call, tc_value_get(targets, "shape"));
    const int64_t n = count_of(tc_value_get(targets, "summary"), blank->integer);
    if (filled < 0 || n < 0)
        return TC_NO_SYM;
    return n > filled ? TC_SYM_TRUE : TC_SYM_FALSE;
}

static void blank_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    const struct tc_situation none = {.n = 0};

    (void)state;
    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || event->call->raised ||
        event->call->role != TC_ROLE_FUNCTION)
        return;
    const tc_sym outcome = outcome_of(event->call);
    const struct tc_example example = {
        .key = event->call->descriptor, .situation = &none, .outcome = &outcome, .n_outcome = 1};
    if (outcome != TC_NO_SYM)
        sink->example(sink->context, event, &example);
}

const struct tc_source tc_source_blank = {.name = "blank",
                                          .judged = "the return of a loss that is given a blank",
                                          .is_set = true,
                                          .observe = blank_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_BLANK_CALL},
     .calls = {TC_BLANK_CALL},
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_F_TARGETS,
     .attr = TC_SYM_IS,
     .to = TC_SYM_NOT_BLANK,
     .held = {TC_SYM_FALSE},
     .broken = {TC_SYM_TRUE},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .expected = "the labels that %c is given hold no blank",
     .seen = "a label has the number of the blank, so that it can never be written",
     },
};

const struct tc_relation tc_api_arg_blank = {
    .name = "APIArg/blank",
    .summary = "labels hold no blank",
    .hint = "Are labels numbered from the place behind the blank, and is the blank the right one?",
    .fault = TC_FAULT_AT_BEGIN,
    .needs_content = true,
    .source = &tc_source_blank,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
