/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_alike.c - APIOutput/alike: what is normalised is more than one number
 *
 * A softmax over one number is one, and its logarithm zero, for every input: no gradient comes
 * through it. The dimension is the wrong one, or the number was picked before it is normalised.
 *
 * There is an example for each function of one tensor along a dimension, of a tensor that takes a
 * gradient and whose elements differ. It is broken from the tenth on at one line, if each so far
 * has returned the same number for all elements. A function that has returned another one there,
 * as with rows of different lengths, is right.
 */
#include "relation/one_claim.h"

#include "relation/operand.h"
#include "replay/symbols.h"

#define MIN_CALLS 10

/* The calls of one function at one line. */
struct alike {
    uint64_t n;
    bool has_varied;
};

/* Does it take a tensor of elements that may differ along a dimension, and give one of its shape?
 */
static bool is_along_a_dimension(const struct tc_call *call)
{
    const struct tc_value *dim = tc_value_get(call->args, "dim"), *value = call->end->value,
                          *input = tc_first_tensor(call);

    return dim && dim->kind == TC_VALUE_INT && tc_requires_gradient(input) &&
           tc_requires_gradient(value) && !tc_value_get(input, "constant") &&
           tc_count_elements(tc_value_get(input, "shape")) > 1 &&
           tc_operand_is_same_shape(tc_value_get(input, "shape"), tc_value_get(value, "shape"));
}

static void alike_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct alike *alike;

    if (!is_along_a_dimension(call))
        return;
    alike = tc_map_struct(tc_hearing_state(h), (uint64_t)call->descriptor << 32 | tc_call_at(call),
                          sizeof(*alike));
    alike->has_varied |= !tc_value_get(call->end->value, "constant");
    if (++alike->n >= MIN_CALLS || alike->has_varied)
        tc_answer(h, alike->has_varied);
}

const struct tc_relation_rule tc_rule_alike = {
    TC_RULE(tc_rule_alike),
    .form.name = "APIOutput/alike",
    .form.summary = "what is normalised is more than one number",
    .form.hint = "Is this the dimension that was meant, and has it more than one element?",
    .form.needs_content = true,
    .source.name = "alike",
    .source.judged = "the return of a function along a dimension",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct tc_map), /* (function, line) → struct alike * */
    .source.release_process = tc_release_map_of_structs,
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_VARIED),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "%c does not return one number for whatever it is given",
    .claim.seen = "all elements of each result so far were one number, of " TC_TEXT(
        MIN_CALLS) " calls or more at this line",
    .at = TC_AT(FUNCTION) | TC_AT(OPERATOR),
    .judge = alike_judge,
};
