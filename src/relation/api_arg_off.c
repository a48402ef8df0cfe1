/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_off.c - APIArg/off: attention drops nothing in evaluation
 *
 * A module that passes its dropout to attention as a number has to pass zero in evaluation mode,
 * as attention itself knows no mode.
 *
 * There is an example for each function with a `dropout_p` and no `training` inside a module: if
 * the number is above zero, or the module is in evaluation mode. It is broken from the third on
 * for which both are so.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

static const struct tc_call *module_around(const struct tc_call *call)
{
    do
        call = call->parent;
    while (call && !tc_value_get(tc_value_get(call->self, "attrs"), "training"));
    return call;
}

static void off_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call, *module;
    uint64_t *n_dropped = tc_hearing_state(h);
    double p;

    if (tc_value_get(call->args, "training") ||
        !tc_value_number(tc_value_get(call->args, "dropout_p"), &p) ||
        !(module = module_around(call)))
        return;
    const bool is_dropped = p > 0 && !tc_call_is_training(module);
    *n_dropped += is_dropped;
    if (is_dropped ? *n_dropped >= TC_THIRD_TIME : p > 0 || !tc_call_is_training(module))
        tc_answer(h, !is_dropped);
}

const struct tc_relation_rule tc_rule_off = {
    TC_RULE(tc_rule_off),
    .form.name = "APIArg/off",
    .form.summary = "attention drops nothing in evaluation",
    .form.hint = "Does the module hand over a dropout of zero unless it is in training mode?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .source.name = "off",
    .source.judged = "the return of a function that is given a dropout and no mode",
    .source.process_size = sizeof(uint64_t),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_DROPOUT_P, TC_SYM_IS, TC_SYM_OFF),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "%c drops nothing inside of a module in evaluation mode",
    .claim.seen = "it was given a dropout above zero, though the module is in evaluation mode",
    .at = TC_AT(FUNCTION),
    .judge = off_judge,
};
