/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_dropped.c - APIOutput/dropped: what a function returns in place of writing is not
 * thrown away
 *
 * A statement calls a function that returns another array or tensor, as a picture that is turned
 * round, and drops what it returns: the picture stays as it was.
 *
 * The agent reads in the source which lines drop what a call returns (unread.py). An example for
 * the first call of each function at each line, and for each whose result is dropped. It is broken
 * from the third step on in which its line has dropped it: a script may call a function once to
 * warm up.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include <string.h>

#include "replay/symbols.h"

static bool is_dropped(const struct tc_strtab *symbols, const struct tc_call *call)
{
    const char *name;

    if (!call->unread || !call->unread->n)
        return false;
    name = strrchr(tc_strtab_text(symbols, call->descriptor), '.');
    return name && tc_value_is_true(tc_value_get(call->unread, name + 1));
}

static void dropped_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const uint64_t key = (uint64_t)call->descriptor << 32 | call->at;
    struct tc_map *lines = tc_hearing_state(h);
    const bool is_new = !tc_map_find(lines, key), is_left = is_dropped(h->symbols, call);

    if (call->at == TC_SYM_EMPTY || (!is_new && !is_left))
        return;
    struct tc_line_steps *line = tc_map_struct(lines, key, sizeof(*line));
    if (!is_left || tc_in_steps(line, call->step) >= TC_THIRD_TIME)
        tc_answer(h, !is_left);
}

const struct tc_relation_rule tc_rule_dropped = {
    TC_RULE(tc_rule_dropped),
    .form.name = "APIOutput/dropped",
    .form.summary = "what a function returns in place of writing is not thrown away",
    .form.hint = "Is the result meant to take the place of what the function was given?",
    .form.needs_operators = true,
    .source.name = "dropped",
    .source.judged = "the first call of a function at a line, and each whose result is dropped",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct tc_map),
    .source.release_process = tc_release_map_of_structs,
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_READ),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what %c returns is not thrown away",
    .claim.seen = "the line drops what was returned, in three steps or more, and what was given "
                  "stays as it was",
    .at = TC_AT(OPERATOR) | TC_AT(FUNCTION) | TC_AT(PACKAGE),
    .judge = dropped_judge,
};
