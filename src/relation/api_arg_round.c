/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_round.c - APIArg/round: labels that are rolled do not end with the row's beginning
 *
 * Labels are the tokens rolled by one place. The last place of a row then has its first token for
 * label, which it has nothing to do with; it is to be left out.
 *
 * By content: what a call with shifts made of rows of tokens that a root forward is given, too. An
 * example for each loss of whole numbers as many as were rolled since the last step. It is broken
 * from the third in a row on whose labels are what was rolled, as it was.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_KNOWN 1024

/* Of one process. */
struct rolling {
    struct tc_map given;  /* content that a root forward was given → 1 */
    struct tc_map rolled; /* content of what was rolled → that of what it was made of */
    uint64_t n_elements;  /* of the last that was rolled in this step; 0: none */
    uint64_t n_round;     /* losses in a row */
};

static void rolling_release(void *of_process)
{
    struct rolling *rolling = of_process;

    tc_map_release(&rolling->given);
    tc_map_release(&rolling->rolled);
}

static void on_roll(struct rolling *rolling, const struct tc_call *call)
{
    const struct tc_value *tokens = tc_first_tensor(call);
    uint64_t from = tc_rich_content(tokens);
    const uint64_t to = tc_rich_content(call->end->value);

    if (!from || !to || tc_n_dimensions(tokens) != 2)
        return;
    tc_map_get(&rolling->rolled, from, &from); /* it was rolled before */
    tc_map_remember(&rolling->rolled, MAX_KNOWN, to, from);
    rolling->n_elements = tc_count_elements(tc_value_get(tokens, "shape"));
}

static void on_loss(const struct tc_hearing *h, struct rolling *rolling)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *target = tc_value_get(call->args, "target");
    uint64_t from, one;

    if (!target || !tc_requires_gradient(call->end->value) || !tc_value_get(target, "summary") ||
        tc_count_elements(tc_value_get(target, "shape")) != rolling->n_elements)
        return;
    const bool is_round = tc_map_get(&rolling->rolled, tc_rich_content(target), &from) &&
                          tc_map_get(&rolling->given, from, &one);
    rolling->n_round = tc_in_a_row(rolling->n_round, is_round);
    if (!is_round || rolling->n_round >= TC_THIRD_TIME)
        tc_answer(h, !is_round);
}

static void round_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct rolling *rolling = tc_hearing_state(h);
    const struct tc_value *operand;
    uint64_t content;

    if (call->role == TC_ROLE_STEP)
        rolling->n_elements = 0;
    else if (call->is_root)
        for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));) {
            if ((content = tc_rich_content(operand)))
                tc_map_remember(&rolling->given, MAX_KNOWN, content, 1);
        }
    else if (tc_value_get(call->args, "shifts"))
        on_roll(rolling, call);
    else if (rolling->n_elements)
        on_loss(h, rolling);
}

const struct tc_relation_rule tc_rule_round = {
    TC_RULE(tc_rule_round),
    .form.name = "APIArg/round",
    .form.summary = "labels that are rolled do not end with the row's beginning",
    .form.hint = "Is the last place of rolled labels left out, by the ignored label or a mask?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "round",
    .source.judged = "a loss of as many labels as were rolled in this step",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct rolling),
    .source.release_process = rolling_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_FUNCTION, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_NEXT),
    TC_CLAIM_ATOMS(TC_SYM_F_TARGET, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "labels that were rolled do not end with what begins the row",
    .claim.seen = "the labels are what the model is given, rolled round: the last of each row is "
                  "its first, for the third time in a row%p",
    .at = TC_AT_ROOT | TC_AT(FUNCTION) | TC_AT(OPERATOR) | TC_AT(STEP),
    .judge = round_judge,
};
