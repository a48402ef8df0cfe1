/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_zeroed.c - EventContain/zeroed: what a script sets to zero is not drawn at random
 * after that
 *
 * A matrix that begins at zero does so on purpose: a gate, a residual branch, the second factor of
 * an adapter. An initialiser that comes after it, for all layers of a class, undoes that.
 *
 * An example for each matrix that the script initialises at random.
 */
#include "relation/claims.h"
#include "relation/form.h"

#include "replay/symbols.h"

/* Of one process: the tensors that the script set to zero last. */
static void zeroed_release(void *of_process)
{
    tc_map_release(of_process);
}

/* The tensor that is filled: the receiver, or the first tensor among the operands. */
static const struct tc_value *target_of(const struct tc_call *call)
{
    return tc_value_get(call->self, "tensor") ? call->self
                                              : tc_call_next_tensor(call, &(uint32_t){0});
}

static bool is_matrix(const struct tc_value *tensor)
{
    const struct tc_value *shape = tc_value_get(tensor, "shape");

    return shape && shape->kind == TC_VALUE_ARRAY && shape->n > 1;
}

/* Is it told that all elements of the result are zero? */
static bool gives_zero(const struct tc_call *call)
{
    return tc_value_is_zero(tc_value_get(call->end->value, "constant"));
}

static void on_init(struct tc_map *zeroed, uint64_t target, const struct tc_event *event,
                    const struct tc_sink *sink)
{
    const bool was_zeroed = tc_map_remove(zeroed, target);

    tc_sink_word(sink, event, TC_SYM_INIT, was_zeroed ? TC_SYM_CHANGED : TC_SYM_KEPT);
}

static void zeroed_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    if (event->kind != TC_EVENT_CALL || event->process->is_worker || call->raised ||
        (call->role != TC_ROLE_INIT && call->role != TC_ROLE_FILL) || !is_matrix(target_of(call)) ||
        !tc_is_by_the_user(symbols, call))
        return;
    struct tc_map *zeroed = tc_process_state(state, event->process);
    const uint64_t target = (uint64_t)tc_value_int(tc_value_get(target_of(call), "id"), TC_NONE);
    if (call->role == TC_ROLE_FILL && gives_zero(call))
        tc_map_put(zeroed, target, 1);
    else if (call->role == TC_ROLE_INIT && !tc_call_is_within(call->parent, TC_ROLE_INIT))
        on_init(zeroed, target, event, sink);
}

const struct tc_source tc_source_zeroed = {.name = "zeroed",
                                           .judged = "a random initialiser that the script calls",
                                           .is_set = true,
                                           .process_size = sizeof(struct tc_map),
                                           .release_process = zeroed_release,
                                           .observe = zeroed_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_INIT},
     .roles = {TC_ROLE_INIT, TC_ROLE_FILL},
     .n_roles = 2,
     .held = {TC_SYM_KEPT},
     .broken = {TC_SYM_CHANGED},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .expected = "no matrix that the script sets to zero is initialised at random after that",
     .seen = "the matrix had been set to zero by the script",
     },
};

const struct tc_relation tc_event_contain_zeroed = {
    .name = "EventContain/zeroed",
    .summary = "what the script sets to zero is not initialised at random after that",
    .hint = "Does an initialiser of all layers come after one of a few?",
    .needs_content = true,
    .source = &tc_source_zeroed,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
