/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_several.c - APIArg/several: a spread is that of several numbers
 *
 * Rewards of a group, or features of a batch, are divided by their standard deviation. Taken along
 * another dimension, or of the first answer alone, it is the spread of one number: zero, or none.
 *
 * An example for each call that has one result for each number that it was given, at a line that
 * has called it in three steps, and for the first call at a line that has fewer. It is broken where
 * the line has never had fewer: the last batch of an epoch may hold one row. Told is the line that
 * made what it was given, if that is one number whichever way it is taken.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_MADE 4096

/* The calls of one function at one line. */
struct line {
    struct tc_line_steps single; /* with one result for each number */
    bool has_several;
};

/* Of one process. */
struct several {
    struct tc_map lines; /* (function, line) → struct line * */
    struct tc_map made;  /* serial of one number → struct tc_spot * of what made it */
};

static void several_release(void *of_process)
{
    struct several *several = of_process;

    tc_map_release_structs(&several->lines);
    tc_map_release_structs(&several->made);
}

static void note_made(struct several *several, const struct tc_event *event)
{
    const struct tc_value *value = event->call->end->value;

    if (!tc_is_tensor(value) || tc_count_elements(tc_value_get(value, "shape")) != 1)
        return;
    if (several->made.n >= MAX_MADE)
        tc_map_release_structs(&several->made);
    tc_spot_keep(&several->made, value, tc_spot_of(event));
}

static void answer_one(const struct tc_hearing *h, const struct several *several,
                       const struct tc_value *from)
{
    const struct tc_spot *spot = tc_map_find(&several->made, (uint64_t)tc_serial_of(from));
    struct tc_place place;

    tc_place_of(h->event, &place);
    if (spot && spot->at != TC_SYM_EMPTY)
        tc_place_move(&place, spot);
    tc_answer_of(h, false, (struct tc_example){.place = &place});
}

static void judge_call(const struct tc_hearing *h, const struct several *several, struct line *line,
                       bool has_several)
{
    if (has_several) {
        if (!line->has_several)
            tc_answer(h, true);
        line->has_several = true;
    } else if (!line->has_several &&
               tc_in_steps(&line->single, h->event->call->step) >= TC_THIRD_TIME) {
        answer_one(h, several, tc_first_tensor(h->event->call));
    }
}

static void several_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *from = tc_first_tensor(call);
    const uint32_t n = tc_count_elements(tc_value_get(from, "shape")),
                   n_results = tc_count_elements(tc_value_get(call->end->value, "shape"));
    const uint64_t key = (uint64_t)call->descriptor << 32 | tc_call_at(call);
    struct several *several = tc_hearing_state(h);
    struct line *line;

    /* What has no dimension to go along, and as many results, computes with each of its numbers. */
    if (n && n_results && (n > n_results || n == 1 || tc_value_get(call->args, "dim")) &&
        tc_call_at(call) != TC_SYM_EMPTY) {
        line = tc_map_struct(&several->lines, key, sizeof(*line));
        judge_call(h, several, line, n > n_results);
    }
    note_made(several, h->event);
}

const struct tc_relation_rule tc_rule_several = {
    TC_RULE(tc_rule_several),
    .form.name = "APIArg/several",
    .form.summary = "a spread is that of several numbers",
    .form.hint = "Is it taken along the dimension in which the numbers of a group stand?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_operators = true,
    .source.name = "several",
    .source.judged = "the call of a function of tensors at a line of the script",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct several),
    .source.release_process = several_release,
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_INPUT, TC_SYM_IS, TC_SYM_VARIED),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "%c is given several numbers for each that it returns",
    .claim.seen = "it was given one number for each that it returns, in three steps or more: the "
                  "spread of one number is none",
    .at = TC_AT(OPERATOR) | TC_AT(FUNCTION) | TC_AT(FILL),
    .judge = several_judge,
};
