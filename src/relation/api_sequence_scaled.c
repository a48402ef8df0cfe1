/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_scaled.c - APISequence/scaled: half precision is trained with a scaler
 *
 * Gradients of most models fall below the smallest number of float16. A scaler multiplies the
 * loss before the backward, and divides before the step. Without one these gradients are zero,
 * and nothing reports it. bfloat16 needs no scaler.
 *
 * There is an example for each step of an optimizer whose last forward with gradients ran under
 * autocast to float16. It is broken from the third on in a process in which no scaler was at
 * work, and no package that scales by itself stepped.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one process. */
struct halves {
    bool is_half; /* the last root forward with gradients */
    bool has_scaler;
    uint64_t n_unscaled;
};

/* Is any device under autocast to float16? */
static bool is_half(const struct tc_call *call)
{
    const struct tc_value *autocast = tc_value_get(call->ctx, "autocast");
    bool is_found = false;

    for (uint32_t i = 0; autocast && autocast->kind == TC_VALUE_OBJECT && i < autocast->n; i++)
        is_found |= tc_value_is(&autocast->members[i].value, "float16");
    return is_found;
}

static void on_step(const struct tc_hearing *h, struct halves *halves)
{
    if (!halves->is_half || tc_call_is_within(h->event->call->parent, TC_ROLE_LIBRARY))
        return;
    halves->n_unscaled += !halves->has_scaler;
    if (halves->has_scaler || halves->n_unscaled >= TC_THIRD_TIME)
        tc_answer(h, halves->has_scaler);
}

static void scaled_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct halves *halves = tc_hearing_state(h);

    if (call->role == TC_ROLE_STEP)
        on_step(h, halves);
    else if (call->role == TC_ROLE_SCALER || call->role == TC_ROLE_UNSCALE)
        halves->has_scaler = true;
    else if (!tc_value_get(call->ctx, "grad"))
        halves->is_half = is_half(call);
}

const struct tc_relation_rule tc_rule_scaled = {
    TC_RULE(tc_rule_scaled),
    .form.name = "APISequence/scaled",
    .form.summary = "half precision is trained with a scaler",
    .form.hint = "Is GradScaler used for the backward and for the step, or bfloat16 meant?",
    .form.excused_by = 1u << TC_ROLE_SCALER | 1u << TC_ROLE_UNSCALE,
    .source.name = "scaled",
    .source.judged = "an optimizer step after a forward in float16",
    .source.process_size = sizeof(struct halves),
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SCALE, TC_SYM_IS, TC_SYM_SCALED),
    TC_CLAIM_ATOMS(TC_SYM_SCALE, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what is trained under autocast to float16 is trained with a gradient scaler",
    .claim.seen = "the forward ran under autocast to float16, and no gradient scaler was at work",
    .at = TC_AT_ROOT | TC_AT(STEP) | TC_AT(SCALER) | TC_AT(UNSCALE),
    .judge = scaled_judge,
};
