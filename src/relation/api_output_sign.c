/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_sign.c - APIOutput/sign: a loss is not below zero
 *
 * Most losses measure a distance, or are the negative logarithm of a probability. With the inputs
 * that they are made for they are never below zero. With others they are: scores in place of
 * logarithms of probabilities, a target that is no probability.
 *
 * There is an example for each call that has a `reduction` and returns one number with a
 * gradient. It is broken from the third below zero on, as rounding may leave a little less than
 * zero. Densities have logarithms of either sign, so their losses have both signs. A divergence
 * (`log_target`) of a part of the classes, or of what was drawn, may have both, too, and is no
 * example.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "base/map.h"
#include "replay/symbols.h"

#define ROUNDING (-1e-4)

static bool is_loss(const struct tc_call *call)
{
    return tc_value_get(call->args, "reduction") && !tc_value_get(call->args, "log_target") &&
           tc_is_loss_value(call->end->value);
}

static void sign_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *number = tc_value_get(call->end->value, "value");
    bool is_new;

    if (!is_loss(call) || !number || number->kind != TC_VALUE_FLOAT)
        return;
    const bool is_negative = number->number < ROUNDING;
    uint64_t *n = tc_map_at(tc_hearing_state(h), call->descriptor, &is_new);
    if (!is_negative || ++*n >= TC_THIRD_TIME)
        tc_answer(h, !is_negative);
}

const struct tc_relation_rule tc_rule_sign = {
    TC_RULE(tc_rule_sign),
    .form.name = "APIOutput/sign",
    .form.summary = "a loss is not below zero",
    .form.hint =
        "Is the loss given logarithms of probabilities, or probabilities, where it asks for them?",
    .form.needs_content = true,
    .source.name = "sign",
    .source.judged = "the return of a loss",
    .source.process_size =
        sizeof(struct tc_map), /* by function, how often its result was below zero */
    .source.release_process = tc_release_map,
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_NOT_NEGATIVE),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_NOT_NEGATIVE, TC_SYM_NEGATIVE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_USAGE,
    .claim.expected = "what %c returns is not below zero",
    .claim.seen =
        "a loss below zero, for the third time or more: it was not given what it is made for",
    .at = TC_AT(FUNCTION),
    .judge = sign_judge,
};
