/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_scores.c - APIArg/scores: a mask is not added to scores, nor multiplied with them
 *
 * Scores of places that hold nothing are to be minus infinity, so that a softmax leaves them out. A
 * mask of ones and zeros that is added to the scores gives one more to a place; multiplied, it
 * gives them a score of zero: the place keeps a share.
 *
 * A mask is a boolean tensor, or what a line makes of one alone. An example for each call, during
 * training, that is given what a line made of scores and of a mask, both in one shape but for
 * dimensions of one. It holds where what is returned meets a mask in the next line that uses it,
 * and what is left of it is divided by its sum; it is broken from the third on of which no mask
 * reads.
 */
#include "relation/one_claim.h"
#include "relation/operand.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_KNOWN 4096

/* What a function returned for masked scores, until a line uses it. */
struct shares {
    tc_sym function;
    struct tc_place place;
};

/* Of one process. */
struct scoring {
    struct tc_map masks;  /* serials of numbers that were made of a mask alone → 1 */
    struct tc_map scores; /* what was made of scores and of a mask → struct tc_spot * where */
    struct tc_map shares; /* serial → struct shares * */
    uint64_t n;
};

static void scoring_release(void *of_process)
{
    struct scoring *scoring = of_process;

    tc_map_release(&scoring->masks);
    tc_map_release_structs(&scoring->scores);
    tc_map_release_structs(&scoring->shares);
}

static bool is_in(const struct tc_map *map, const struct tc_value *tensor)
{
    uint64_t one;

    return tensor && tc_map_get(map, (uint64_t)tc_serial_of(tensor), &one);
}

static bool is_mask(const struct scoring *scoring, const struct tc_value *tensor)
{
    return tc_is_tensor(tensor) && (tc_is_of_dtype(tc_value_get(tensor, "dtype"), "bool") ||
                                    is_in(&scoring->masks, tensor));
}

static bool is_of_numbers(const struct tc_value *tensor)
{
    return tc_is_of_dtype(tc_value_get(tensor, "dtype"), "float") && tc_n_dimensions(tensor) > 1;
}

static void on_operator(struct scoring *scoring, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *value = call->end->value, *other = tc_value_get(call->args, "other"),
                          *only = tc_first_tensor(call);
    uint32_t pos = 0, n = only && only == call->self;

    if (!is_of_numbers(value))
        return;
    while (tc_call_next_tensor(call, &pos))
        n++;
    if (n == 1 && is_mask(scoring, only) && !tc_value_get(call->args, "other"))
        tc_map_remember(&scoring->masks, MAX_KNOWN, (uint64_t)tc_serial_of(value), 1);
    if (n == 2 && tc_is_tensor(other) && is_mask(scoring, call->self) != is_mask(scoring, other) &&
        tc_requires_gradient(value) && scoring->scores.n < MAX_KNOWN)
        tc_spot_keep(&scoring->scores, value, tc_spot_of(event));
}

/* The shares are used: by a line that masks them, or by another one. */
static void note_use(const struct tc_hearing *h, struct scoring *scoring,
                     const struct tc_value *operand, bool has_mask)
{
    const uint64_t serial = (uint64_t)tc_serial_of(operand);
    struct shares *shares = operand ? tc_map_find(&scoring->shares, serial) : NULL;

    if (!shares)
        return;
    scoring->n += !has_mask;
    if (has_mask || scoring->n >= TC_THIRD_TIME)
        tc_answer_of(h, has_mask,
                     (struct tc_example){.key = shares->function, .place = &shares->place});
    tc_map_remove(&scoring->shares, serial);
    tc_free(shares);
}

static void note_uses(const struct tc_hearing *h, struct scoring *scoring)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *operand;
    bool has_mask = is_mask(scoring, call->self);

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        has_mask |= is_mask(scoring, operand);
    note_use(h, scoring, call->self, has_mask);
    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        note_use(h, scoring, operand, has_mask);
}

static void scores_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct scoring *scoring = tc_hearing_state(h);
    const struct tc_value *value = call->end->value, *first = tc_first_tensor(call);
    const struct tc_spot *spot =
        first ? tc_map_find(&scoring->scores, (uint64_t)tc_serial_of(first)) : NULL;
    struct shares *shares;

    if (call->role == TC_ROLE_STEP)
        tc_map_release_structs(&scoring->scores);
    if (!tc_is_tensor(value) || tc_value_get(call->ctx, "grad"))
        return;
    if (scoring->shares.n)
        note_uses(h, scoring);
    if (spot && tc_value_get(call->args, "dim") &&
        tc_operand_is_same_shape(tc_value_get(first, "shape"), tc_value_get(value, "shape"))) {
        if (scoring->shares.n >= MAX_KNOWN)
            tc_map_release_structs(&scoring->shares);
        shares = tc_map_struct(&scoring->shares, (uint64_t)tc_serial_of(value), sizeof(*shares));
        shares->function = call->descriptor;
        tc_place_of(h->event, &shares->place);
        tc_place_move(&shares->place, spot);
    } else if (call->role == TC_ROLE_OPERATOR) {
        on_operator(scoring, h->event);
    }
}

const struct tc_relation_rule tc_rule_scores = {
    TC_RULE(tc_rule_scores),
    .form.name = "APIArg/scores",
    .form.summary = "a mask is not added to scores, nor multiplied with them",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.hint = "Should places that hold nothing get minus infinity, as by masked_fill()?",
    .form.needs_operators = true,
    .source.name = "scores",
    .source.judged = "what is made of scores and of a mask, where it is divided by its sum",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct scoring),
    .source.release_process = scoring_release,
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_INPUT, TC_SYM_IS, TC_SYM_MASKED),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "%c is not given scores to which a mask was added, or by which it was "
                      "multiplied",
    .claim.seen = "a mask was added to the scores, or multiplied with them, for the third time or "
                  "more: places that it leaves out keep a share",
    .at = TC_AT(OPERATOR) | TC_AT(FUNCTION) | TC_AT(STEP),
    .judge = scores_judge,
};
