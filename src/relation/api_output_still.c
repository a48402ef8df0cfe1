/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_still.c - APIOutput/still: a loss becomes another one as its model is trained
 *
 * A loss of weights that change changes with them. A loss that has been the same number in each
 * step from the first on does not depend on the model, or is at a bound: scores of a single
 * class, clamped probabilities, a constant that should be added.
 *
 * There is an example for each backward in another step than the one before at its line. It is
 * broken from the tenth step on, if the loss has been one number in all of them that is not zero:
 * a margin may be kept from the start. The loss has single precision: with fewer digits it may
 * well stay.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"

#define MIN_STEPS 10

/* The backwards of one line. */
struct still {
    double first;
    int64_t step; /* of the last one */
    uint64_t n;   /* steps */
    bool has_varied;
};

static void still_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = tc_value_get(call->self, "value");
    struct still *still;

    if (!value || value->kind != TC_VALUE_FLOAT ||
        !tc_value_is(tc_value_get(call->self, "dtype"), "float32"))
        return;
    still = tc_map_struct(tc_hearing_state(h), tc_call_at(call), sizeof(*still));
    if (still->n && still->step == call->step)
        return;
    if (value->number == 0) { /* of a bound that is met; alone it says nothing */
        still->has_varied |= still->n > 0;
        return;
    }
    still->first = still->n ? still->first : value->number;
    still->has_varied |= value->number < still->first || value->number > still->first;
    still->step = call->step;
    if (++still->n > 1 && (still->has_varied || still->n >= MIN_STEPS))
        tc_answer(h, still->has_varied);
}

const struct tc_relation_rule tc_rule_still = {
    TC_RULE(tc_rule_still),
    .form.name = "APIOutput/still",
    .form.summary = "a loss becomes another one as its model is trained",
    .form.hint = "Has the loss what the model says in it, and more than one class?",
    .form.needs_content = true,
    .source.name = "still",
    .source.judged = "a backward in another step",
    .source.process_size = sizeof(struct tc_map), /* line → struct still * */
    .source.release_process = tc_release_map_of_structs,
    TC_CLAIM_ROLES(TC_ROLE_BACKWARD),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_VARIED),
    TC_CLAIM_ATOMS(TC_SYM_LOSS, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a loss is not one number in each of the first " TC_TEXT(MIN_STEPS) " steps",
    .claim.seen = "the loss has been the same number in each step so far, " TC_TEXT(
        MIN_STEPS) " of them or more",
    .at = TC_AT(BACKWARD),
    .judge = still_judge,
};
