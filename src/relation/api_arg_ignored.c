/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_ignored.c - APIArg/ignored: a loss has something to learn
 *
 * Labels that a loss ignores mark what is not learned: prompts, padding. If all labels are
 * ignored, the mean over none is no number, and a sum trains nothing: a template marks the whole
 * of each row, or answers are cut off.
 *
 * There is an example for each call that makes one number of labels and of scores that take a
 * gradient, and has an `ignore_index`. It is broken from the third in a row with all labels
 * ignored, at one line of the script: a batch, or a part of one, may well have nothing to learn.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

static void ignored_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *ignored = tc_value_get(call->args, "ignore_index"),
                          *target = tc_value_get(call->args, "target"),
                          *summary = tc_value_get(target, "summary");
    bool is_new;

    if (!summary || !ignored || ignored->kind != TC_VALUE_INT ||
        !tc_is_loss_value(call->end->value))
        return;
    const bool is_empty = tc_value_int(tc_value_get(summary, "min"), 0) == ignored->integer &&
                          tc_value_int(tc_value_get(summary, "max"), 0) == ignored->integer;
    uint64_t *n = tc_map_at(tc_hearing_state(h), tc_call_at(call), &is_new);
    *n = tc_in_a_row(*n, is_empty);
    if (!is_empty || *n >= TC_THIRD_TIME)
        tc_answer(h, !is_empty);
}

const struct tc_relation_rule tc_rule_ignored = {
    TC_RULE(tc_rule_ignored),
    .form.name = "APIArg/ignored",
    .form.summary = "a loss has labels that it does not ignore",
    .form.hint = "What marks the labels: the mask of prompts, or where rows are cut off?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_content = true,
    .source.name = "ignored",
    .source.judged = "the return of a loss that has labels to ignore",
    .source.process_size =
        sizeof(struct tc_map), /* by line, how many in a row had nothing to learn */
    .source.release_process = tc_release_map,
    TC_CLAIM_ROLES(TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_LEARNED),
    TC_CLAIM_ATOMS(TC_SYM_F_TARGET, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a loss is given labels that it does not ignore",
    .claim.seen = "all labels were those that are ignored, for the third time in a row or more: "
                  "there was nothing to learn",
    .at = TC_AT(FUNCTION),
    .judge = ignored_judge,
};
