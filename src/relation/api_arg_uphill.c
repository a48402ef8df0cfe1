/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_uphill.c - APIArg/uphill: no optimizer steps at a rate below zero
 *
 * A step at a negative rate goes up instead of down. A linear schedule gets there if training is
 * longer than the schedule, or resumes with steps that were counted already.
 *
 * There is an example for each step of an optimizer that shows its rate. It is broken from the
 * third on below zero. A cosine may end below zero by rounding.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define ROUNDING (-1e-12)

static void uphill_judge(const struct tc_hearing *h)
{
    uint64_t *n_below = tc_hearing_state(h);
    double rate;

    if (!tc_value_number(tc_value_get(tc_value_get(h->event->call->self, "attrs"), "lr"), &rate))
        return;
    *n_below += rate < ROUNDING;
    if (rate >= ROUNDING || *n_below >= TC_THIRD_TIME)
        tc_answer(h, rate >= ROUNDING);
}

const struct tc_relation_rule tc_rule_uphill = {
    TC_RULE(tc_rule_uphill),
    .form.name = "APIArg/uphill",
    .form.summary = "no optimizer steps at a rate below zero",
    .form.hint = "Is the schedule as long as the training, and its factor kept at zero or above?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .source.name = "uphill",
    .source.judged = "an optimizer step",
    .source.process_size = sizeof(uint64_t),
    TC_CLAIM_ROLES(TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_SELF_LR, TC_SYM_IS, TC_SYM_NOT_NEGATIVE),
    TC_CLAIM_ATOMS(TC_SYM_F_SELF_LR, TC_SYM_NOT_NEGATIVE, TC_SYM_NEGATIVE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "no optimizer steps at a rate below zero",
    .claim.seen = "lr was below zero, for the third time or more: the step goes uphill",
    .at = TC_AT(STEP),
    .judge = uphill_judge,
};
