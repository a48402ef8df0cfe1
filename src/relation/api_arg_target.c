/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_target.c - APIArg/target: a loss is not given one content twice
 *
 * A loss that compares a tensor with itself is at its best for every model: the target is an
 * alias of the result, or the teacher is the student.
 *
 * There is an example for each loss, a function with a `reduction` that returns one number with a
 * gradient, of two tensors of more than one element. It is broken from the third in a row at one
 * line whose operands are equal: a teacher that begins as a copy agrees with the student at
 * first.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

static bool has_pair(const struct tc_value *pairs, const char *a, const char *b)
{
    bool is_found = false;

    for (uint32_t i = 0; pairs && i < pairs->n; i++) {
        const struct tc_value *pair = &pairs->items[i];
        is_found |= pair->kind == TC_VALUE_ARRAY && pair->n == 2 &&
                    tc_value_is(&pair->items[0], a) && tc_value_is(&pair->items[1], b);
    }
    return is_found;
}

static bool is_loss(const struct tc_call *call)
{
    const struct tc_value *input = tc_value_get(call->args, "input");

    return tc_value_get(call->args, "reduction") && tc_value_get(call->args, "target") &&
           tc_count_elements(tc_value_get(input, "shape")) > 1 &&
           tc_is_loss_value(call->end->value);
}

static void target_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    bool is_new;

    if (!is_loss(call))
        return;
    const bool is_same = has_pair(call->equal, "args.input", "args.target") ||
                         has_pair(call->alias, "args.input", "args.target");
    uint64_t *n = tc_map_at(tc_hearing_state(h), tc_call_at(call), &is_new);
    *n = tc_in_a_row(*n, is_same);
    if (!is_same || *n >= TC_THIRD_TIME)
        tc_answer(h, !is_same);
}

const struct tc_relation_rule tc_rule_target = {
    TC_RULE(tc_rule_target),
    .form.name = "APIArg/target",
    .form.summary = "a loss is not given one content twice",
    .form.hint = "Which of the two was meant to be another: the target, or what the model says?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .source.name = "target",
    .source.judged = "the return of a loss of two tensors",
    .source.process_size = sizeof(struct tc_map), /* by line, how many in a row */
    .source.release_process = tc_release_map,
    TC_CLAIM_ROLES(TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_DISTINCT_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_F_TARGET, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a loss is not given the same content as input and as target",
    .claim.seen = "input and target were equal, for the third time in a row or more: there is "
                  "nothing to learn",
    .at = TC_AT(FUNCTION),
    .judge = target_judge,
};
