/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_zeroed.c - EventContain/zeroed: what a script sets to zero is not drawn at random
 * after that
 *
 * A matrix that begins at zero does so on purpose: a gate, a residual branch, the second factor
 * of an adapter. An initialiser that comes later, for all layers of a class, undoes that.
 *
 * There is an example for each matrix that the script initialises at random.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"

/* Is it told that all elements of the result are zero? */
static bool gives_zero(const struct tc_call *call)
{
    return tc_value_is_zero(tc_value_get(call->end->value, "constant"));
}

static void zeroed_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *target = tc_first_tensor(call);

    if (tc_n_dimensions(target) < 2 || !tc_is_by_the_user(h->symbols, call))
        return;
    const uint64_t serial = (uint64_t)tc_serial_of(target);
    if (call->role == TC_ROLE_FILL && gives_zero(call))
        tc_map_put(tc_hearing_state(h), serial, 1);
    else if (call->role == TC_ROLE_INIT && !tc_call_is_within(call->parent, TC_ROLE_INIT))
        tc_answer(h, !tc_map_remove(tc_hearing_state(h), serial));
}

const struct tc_relation_rule tc_rule_zeroed = {
    TC_RULE(tc_rule_zeroed),
    .form.name = "EventContain/zeroed",
    .form.summary = "what the script sets to zero is not initialised at random after that",
    .form.hint = "Does an initialiser of all layers come after one of a few?",
    .form.needs_content = true,
    .source.name = "zeroed",
    .source.judged = "a random initialiser that the script calls",
    .source.process_size = sizeof(struct tc_map), /* the tensors that the script set to zero last */
    .source.release_process = tc_release_map,
    TC_CLAIM_ROLES(TC_ROLE_INIT, TC_ROLE_FILL),
    TC_CLAIM_ATOMS(TC_SYM_INIT, TC_SYM_KEPT, TC_SYM_CHANGED),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected = "no matrix that the script sets to zero is initialised at random after that",
    .claim.seen = "the matrix had been set to zero by the script",
    .at = TC_AT(INIT) | TC_AT(FILL),
    .judge = zeroed_judge,
};
