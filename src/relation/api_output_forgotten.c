/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_forgotten.c - APIOutput/forgotten: what a line computes of tensors is read
 *
 * A function computes a loss with one term more, decayed weights or an average, gives it a name,
 * and goes on with what it had before: what was computed has no effect.
 *
 * The agent reads in the source what a line computes, of other names by an operator or of the name
 * itself by its method, and that the function reads nowhere (unread.py). An example for the first
 * operator of each line that computes with tensors, and for each of such a line. It is broken from
 * the third step on in which it has computed.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

static void forgotten_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct tc_map *lines = tc_hearing_state(h);
    const struct tc_str name = tc_value_str(tc_value_get(call->unread, "="));
    const bool is_new = !tc_map_find(lines, call->at), is_vain = name.text != NULL;

    if (call->at == TC_SYM_EMPTY || !tc_first_tensor(call) || (!is_new && !is_vain))
        return;
    struct tc_line_steps *line = tc_map_struct(lines, call->at, sizeof(*line));
    if (is_vain && tc_in_steps(line, call->step) < TC_THIRD_TIME)
        return;
    const tc_sym of = tc_symbols_str(h->symbols, name);
    tc_answer_of(h, !is_vain, (struct tc_example){.detail = &of});
}

const struct tc_relation_rule tc_rule_forgotten = {
    TC_RULE(tc_rule_forgotten),
    .form.name = "APIOutput/forgotten",
    .form.summary = "what a line computes of tensors is read",
    .form.hint = "Should what follows use what the line computes?",
    .form.needs_operators = true,
    .source.name = "forgotten",
    .source.judged = "the first operator of a line, and each of a line that computes what nothing "
                     "reads",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct tc_map),
    .source.release_process = tc_release_map_of_structs,
    TC_CLAIM_ROLES(TC_ROLE_OPERATOR, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_READ),
    TC_CLAIM_ATOMS(TC_SYM_VALUE, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what a line computes of tensors is read",
    .claim.seen =
        "%d was computed in three steps or more, and its function reads it nowhere: it has "
        "no effect%p",
    .at = TC_AT(OPERATOR),
    .judge = forgotten_judge,
};
