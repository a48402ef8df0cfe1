/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_again.c - EventContain/again: what a backward computes again, the step had computed
 *
 * A backward calls modules once more if activations are not kept. It calls no module that the
 * forward had not called, and none more often. A function that refers to the variable of a loop
 * finds the last module in it by then, and calls that in place of others of its class. A class
 * that is called more often as a whole is intended, as when an adjoint equation is solved.
 *
 * There is an example for each backward that calls modules.
 */
#include "relation/one_claim.h"

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

static uint64_t count_of_module(struct tc_map *map, uint64_t module)
{
    bool is_new;

    return ++*tc_map_at(map, module, &is_new);
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

static void on_forward(struct calls *calls, const struct tc_call *call)
{
    const uint64_t module = (uint64_t)tc_serial_of(call->self);
    const uint64_t class = class_of(call->self);

    if (!tc_call_is_within(call->parent, TC_ROLE_BACKWARD)) {
        count_of_module(&calls->before, module);
        count_of_module(&calls->before, class);
    } else if (call->parent->role == TC_ROLE_BACKWARD) {
        count_of_module(&calls->again, class);
        if (count_of_module(&calls->again, module) > get(&calls->before, module))
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

static void again_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct calls *calls = tc_hearing_state(h);

    if (h->event->kind == TC_EVENT_WINDOW) {
        tc_map_clear(&calls->before);
    } else if (call->role != TC_ROLE_BACKWARD) {
        on_forward(calls, call);
    } else if (!tc_call_is_within(call->parent, TC_ROLE_BACKWARD)) {
        if (calls->again.n && !call->raised)
            tc_answer(h, !has_more(calls));
        tc_map_clear(&calls->again);
        tc_map_clear(&calls->more);
    }
}

const struct tc_relation_rule tc_rule_again = {
    TC_RULE(tc_rule_again),
    .form.name = "EventContain/again",
    .form.summary = "a backward computes again what the step had computed",
    .form.hint =
        "Does what is checkpointed refer to the variable of a loop, or to state that has changed "
        "since?",
    .source.name = "again",
    .source.judged = "a backward that calls modules again",
    .source.process_size = sizeof(struct calls),
    .source.release_process = calls_release,
    TC_CLAIM_ROLES(TC_ROLE_BACKWARD, TC_ROLE_FORWARD, TC_ROLE_LAYER),
    TC_CLAIM_ATOMS(TC_SYM_REPEATED, TC_SYM_EQUAL, TC_SYM_DIFFERS),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected =
        "a backward calls no module more often than the step had, in place of others of its class",
    .claim.seen =
        "it called a module more often than the step had, and others of its class less often",
    .at = TC_AT(FORWARD) | TC_AT(LAYER) | TC_AT(BACKWARD) | TC_AT_WINDOW | TC_AT_RAISED,
    .judge = again_judge,
};
