/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_again.c - EventContain/again: what a backward computes again, the step had computed
 *
 * Where activations are not kept, a backward calls modules once more. It calls none that the
 * forward had not called, nor one more often: a function that refers to the variable of a loop
 * finds the last module in it by then, and calls that in place of others of its class. A class that
 * is called more often as a whole is meant so, as where an adjoint equation is solved.
 *
 * An example for each backward that calls modules.
 */
#include "relation/claims.h"
#include "relation/form.h"

#include "base/hash.h"
#include "replay/symbols.h"

/* Of one process, since the last step. */
struct calls {
    struct tc_map before; /* module, or class → calls outside of backwards */
    struct tc_map again;  /* the same → calls in the backward at hand */
    struct tc_map more;   /* classes of which a module was called once too many in it */
};

static void calls_release(void *of_process)
{
    struct calls *calls = of_process;

    tc_map_release(&calls->before);
    tc_map_release(&calls->again);
    tc_map_release(&calls->more);
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

static uint64_t get(const struct tc_map *map, uint64_t key)
{
    uint64_t n = 0;

    tc_map_get(map, key, &n);
    return n;
}

/* Serials are small, digests of names are not. */
static uint64_t class_of(const struct tc_value *module)
{
    const struct tc_str name = tc_value_str(tc_value_get(module, "object"));

    return name.text ? tc_hash64(name.text, name.size, 0) : 0;
}

static void on_forward(struct calls *calls, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const uint64_t module = (uint64_t)tc_value_int(tc_value_get(call->self, "id"), TC_NONE);
    const uint64_t class = class_of(call->self);

    if (!tc_call_is_within(call->parent, TC_ROLE_BACKWARD)) {
        count(&calls->before, module);
        count(&calls->before, class);
    } else if (call->parent->role == TC_ROLE_BACKWARD) {
        count(&calls->again, class);
        if (count(&calls->again, module) > get(&calls->before, module))
            tc_map_put(&calls->more, class, 1);
    }
}

/* Was a module called in place of another of its class? */
static bool has_more(const struct calls *calls)
{
    uint64_t class, ignored;

    for (size_t pos = 0; tc_map_each(&calls->more, &pos, &class, &ignored);)
        if (get(&calls->again, class) <= get(&calls->before, class))
            return true;
    return false;
}

static void on_backward(struct calls *calls, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    if (calls->again.n && !event->call->raised)
        tc_sink_word(sink, event, TC_SYM_REPEATED, has_more(calls) ? TC_SYM_DIFFERS : TC_SYM_EQUAL);
    tc_map_clear(&calls->again);
    tc_map_clear(&calls->more);
}

static void again_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    (void)symbols;
    if (!event->process || event->process->is_worker)
        return;
    struct calls *calls = tc_process_state(state, event->process);
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
                                          .process_size = sizeof(struct calls),
                                          .release_process = calls_release,
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
     .expected =
            "a backward calls no module more often than the step had, in place of others of its class",
     .seen =
            "it called a module more often than the step had, and others of its class less often", },
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
