/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_shrunk.c - APIArg/shrunk: ranks that hold parts of a gradient clip it by one factor
 *
 * Where ranks hold parts of a gradient, its norm is that of all of them. A script that clips by the
 * norm of its own part divides each part by another number: the whole points elsewhere, and is
 * longer than the limit.
 *
 * By values: a factor is a tensor of one element, at most one, by which a line has multiplied a
 * tensor in its place, after the last backward and before a step. Ranks hold parts where the
 * optimizer owns a variable that is sharded, or one of no module, as a flat piece of all weights.
 * An example for each step of all ranks in which each told of a factor, below one on some. It is
 * broken from the third in a row on in which they differ.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

/* Of one process. */
struct shrinking {
    bool has_factor; /* since the last backward */
    double factor;
    struct tc_spot spot;
};

/* Of all ranks in one step. */
struct step_of_ranks {
    struct tc_told_step told;
    double least, most;
};

struct shrunk_state {
    struct tc_process_states processes; /* struct shrinking */
    struct tc_map steps;                /* (restart, step) → struct step_of_ranks * */
    uint64_t n_apart;                   /* steps in a row */
};

static void shrunk_release(void *state)
{
    tc_map_release_structs(&((struct shrunk_state *)state)->steps);
}

static void on_operator(struct shrinking *shrinking, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *other = tc_value_get(call->args, "other");
    double factor;

    if (!tc_is_tensor(other) || tc_requires_gradient(call->self) ||
        tc_serial_of(call->self) != tc_serial_of(call->end->value) ||
        tc_count_elements(tc_value_get(call->self, "shape")) < 2 ||
        !tc_plain_number(other, &factor) || factor <= 0 || factor > 1)
        return;
    shrinking->has_factor = true;
    shrinking->factor = factor;
    shrinking->spot = tc_spot_of(event);
}

static bool holds_parts(const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    for (size_t i = 0; i < call->n_params; i++) {
        const struct tc_variable *v = tc_process_variable(event->process, call->params[i]);
        if (v && (v->is_sharded || v->root == TC_NONE))
            return true;
    }
    return false;
}

static void judge_ranks(const struct tc_hearing *h, struct shrunk_state *state,
                        const struct step_of_ranks *step)
{
    const bool is_apart = !tc_is_near(step->least, step->most);

    state->n_apart = tc_in_a_row(state->n_apart, is_apart);
    if (step->least < 1 && (!is_apart || state->n_apart >= TC_THIRD_TIME))
        tc_answer_of(h, !is_apart, (struct tc_example){.place = &step->told.place});
}

static void on_step(const struct tc_hearing *h, const struct shrinking *shrinking)
{
    const struct tc_process *process = h->event->process;
    struct shrunk_state *state = h->state;
    struct step_of_ranks *step;

    if (!shrinking->has_factor || process->world < 2 || process->rank < 0 || !holds_parts(h->event))
        return;
    step = tc_tell_step(&state->steps, sizeof(*step), h->event, &shrinking->spot);
    if (step->told.n == 1 || shrinking->factor < step->least)
        step->least = shrinking->factor;
    if (step->told.n == 1 || shrinking->factor > step->most)
        step->most = shrinking->factor;
    if (step->told.n == (uint64_t)process->world)
        judge_ranks(h, state, step);
}

static void shrunk_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct shrinking *shrinking = tc_hearing_state(h);

    if (call->role == TC_ROLE_OPERATOR) {
        on_operator(shrinking, h->event);
        return;
    }
    if (call->role == TC_ROLE_STEP)
        on_step(h, shrinking);
    shrinking->has_factor = false;
}

const struct tc_relation_rule tc_rule_shrunk = {
    TC_RULE(tc_rule_shrunk),
    .form.name = "APIArg/shrunk",
    .form.summary = "ranks that hold parts of a gradient clip it by one factor",
    .form.hint = "Are the squares of all parts added up over the ranks before the root is taken?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "shrunk",
    .source.judged = "an optimizer step of all ranks, each of which has scaled its part",
    .source.looks_closely = true,
    .source.state_size = sizeof(struct shrunk_state),
    .source.release = shrunk_release,
    .source.process_size = sizeof(struct shrinking),
    TC_CLAIM_ROLES(TC_ROLE_BACKWARD, TC_ROLE_OPERATOR, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_EQUAL_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_SCALED, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "ranks that hold parts of a gradient multiply it by one factor",
    .claim.seen = "the ranks multiplied their parts of the gradient by factors of their own, in a "
                  "third step in a row%p",
    .at = TC_AT(BACKWARD) | TC_AT(OPERATOR) | TC_AT(STEP),
    .judge = shrunk_judge,
};
