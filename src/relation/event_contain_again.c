/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_again.c - EventContain/again: what a backward computes again, the step had computed
 *
 * Where activations are not kept, a backward calls modules once more. It calls none that the
 * forward had not called, nor one more often: a function that refers to the variable of a loop
 * finds the last module in it by then.
 *
 * An example for each backward that calls modules.
 */
#include "relation/claims.h"
#include "relation/form.h"

#include "replay/symbols.h"

/* Of one process, since the last step. */
struct calls {
    struct tc_map before; /* module → calls outside of backwards */
    struct tc_map again;  /* module → calls in the backward at hand */
    bool has_more;        /* there was one too many in it */
};

struct again_state {
    struct tc_map processes; /* process → struct calls * */
};

static void again_release(void *state)
{
    struct again_state *s = state;
    struct calls *calls;

    for (size_t pos = 0; (calls = tc_map_next(&s->processes, &pos));) {
        tc_map_release(&calls->before);
        tc_map_release(&calls->again);
    }
    tc_map_release_structs(&s->processes);
}

static uint64_t count(struct tc_map *map, uint64_t module)
{
    bool is_new;

    return ++*tc_map_at(map, module, &is_new);
}

static bool is_of_a_module(const struct tc_call *call)
{
    return call->role == TC_ROLE_FORWARD || call->role == TC_ROLE_LAYER;
}

static void on_forward(struct calls *calls, const struct tc_event *event)
{
    const uint64_t module = (uint64_t)tc_value_int(tc_value_get(event->call->self, "id"), TC_NONE);
    uint64_t before = 0;

    if (!tc_call_is_within(event->call->parent, TC_ROLE_BACKWARD)) {
        count(&calls->before, module);
        return;
    }
    tc_map_get(&calls->before, module, &before);
    calls->has_more |= count(&calls->again, module) > before;
}

static void on_backward(struct calls *calls, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    const struct tc_situation none = {.n = 0};
    const tc_sym outcome = calls->has_more ? TC_SYM_DIFFERS : TC_SYM_EQUAL;
    const struct tc_example example = {
        .key = TC_SYM_REPEATED, .situation = &none, .outcome = &outcome, .n_outcome = 1};

    if (calls->again.n && !event->call->raised)
        sink->example(sink->context, event, &example);
    tc_map_clear(&calls->again);
    calls->has_more = false;
}

static void again_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    struct again_state *s = state;
    const struct tc_call *call = event->call;

    (void)symbols;
    if (!event->process || event->process->is_worker)
        return;
    struct calls *calls =
        tc_map_struct(&s->processes, (uintptr_t)event->process, sizeof(struct calls));
    if (tc_is_step_window(event))
        tc_map_clear(&calls->before);
    else if (event->kind == TC_EVENT_CALL && is_of_a_module(call))
        on_forward(calls, event);
    else if (event->kind == TC_EVENT_CALL && call->role == TC_ROLE_BACKWARD &&
             !tc_call_is_within(call->parent, TC_ROLE_BACKWARD))
        on_backward(calls, event, sink);
}

const struct tc_source tc_source_again = {.name = "again",
                                          .judged = "a backward that calls modules again",
                                          .is_set = true,
                                          .state_size = sizeof(struct again_state),
                                          .release = again_release,
                                          .observe = again_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_REPEATED},
     .roles = {TC_ROLE_BACKWARD, TC_ROLE_FORWARD, TC_ROLE_LAYER},
     .n_roles = 3,
     .held = {TC_SYM_EQUAL},
     .broken = {TC_SYM_DIFFERS},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .expected = "a backward calls no module more often than the step had called it",
     .seen = "it called a module that the step had called less often, or not at all",
     },
};

const struct tc_relation tc_event_contain_again = {
    .name = "EventContain/again",
    .summary = "a backward computes again what the step had computed",
    .hint = "Does what is checkpointed refer to the variable of a loop, or to state that has "
            "changed since?",
    .source = &tc_source_again,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
