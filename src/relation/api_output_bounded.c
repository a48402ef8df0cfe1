/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_bounded.c - APIOutput/bounded: what is learned from is a number
 *
 * An infinity marks what is not to be chosen: a mask fills with one, and the smallest or the
 * largest of the others is taken. Where the wrong one of the two is taken each element is the mark
 * itself. A hinge makes zero of it, or one, so that no loss tells: nothing is learned from it.
 *
 * An example for each line that makes several elements which take a gradient, all of one number, of
 * a tensor that is not of one number itself. It is broken from the third in a row on that one line
 * makes of no finite number; a batch without anything to choose from may do so.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* The result, or the first of several. */
static const struct tc_value *result_of(const struct tc_call *call)
{
    const struct tc_value *value = call->end->value;

    return value && value->kind == TC_VALUE_ARRAY && value->n ? &value->items[0] : value;
}

static void bounded_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = result_of(call), *constant = tc_value_get(value, "constant");
    bool is_new;

    if (!constant || !tc_requires_gradient(value) || tc_size_of(value, 0) < 2 ||
        tc_value_get(tc_first_tensor(call), "constant"))
        return;
    const bool is_infinite = tc_value_get(constant, "float") != NULL;
    uint64_t *n = tc_map_at(tc_hearing_state(h), tc_call_at(call), &is_new);
    *n = tc_in_a_row(*n, is_infinite);
    if (!is_infinite || *n >= TC_THIRD_TIME)
        tc_answer(h, !is_infinite);
}

const struct tc_relation_rule tc_rule_bounded = {
    TC_RULE(tc_rule_bounded),
    .form.name = "APIOutput/bounded",
    .form.summary = "what is learned from is a number",
    .form.hint = "Is the smallest taken where the largest was filled, or the other way round?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "bounded",
    .source.judged = "a line makes elements of one number, that take a gradient",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct tc_map), /* line → how many in a row were infinite */
    .source.release_process = tc_release_map,
    TC_CLAIM_ROLES(TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_FINITE),
    TC_CLAIM_ATOMS(TC_SYM_VALUE, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what takes a gradient is not infinite in each of its elements",
    .claim.seen = "all elements of the result were one that is no finite number, for the third "
                  "time in a row: nothing can be learned from them",
    .at = TC_AT(OPERATOR) | TC_AT(FUNCTION),
    .judge = bounded_judge,
};
