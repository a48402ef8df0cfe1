/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced_call.c - is a call told of?
 *
 * Not in a step that sampling leaves out, not of what is muted, and not of a line or a function
 * that has been told of often enough in this step or in the batch that is being made. Places are
 * counted by code object and instruction. With the interpreter's lock; the counts are those of the
 * thread that trains.
 */
#include "collect/agent/hook/traced_call.h"

#include "base/hash.h"
#include "base/map.h"
#include "collect/agent/say/frames.h"

/* Sampling: does the call pass straight through? */
static bool is_left_out(const struct tc_thread *thread, const struct tc_api *api)
{
    if (!tc_agent.is_skipped)
        return false;
    return !api->in_skipped || (api->flags & TC_API_MODULE && thread->n_modules > 0);
}

struct batch_told {
    int64_t batch;
    unsigned n;
    struct tc_map met; /* places */
};

/* A place that calls a function, or NULL for whatever it computes. */
static uint64_t key_of(const struct tc_place_in_code *place, const struct tc_api *function)
{
    const uint64_t of_code = (uintptr_t)place->code, of_function = (uintptr_t)function;

    return tc_hash_mix(of_code, (uint64_t)place->instruction, of_function);
}

/* Has enough been told of the batch that is being made, if one is, and of this place in it? */
static bool is_batch_told(const struct tc_thread *thread, struct batch_told *told, unsigned max,
                          const struct tc_place_in_code *place, const struct tc_api *function)
{
    const struct tc_open_call *items = thread->stack.items;
    bool is_new;

    for (size_t i = 0; i < thread->stack.n; i++) {
        if (items[i].api->role != TC_ROLE_DATA)
            continue;
        if (told->batch != items[i].id)
            tc_map_clear(&told->met);
        told->n = told->batch == items[i].id ? told->n : 0;
        told->batch = items[i].id;
        (void)tc_map_at(&told->met, key_of(place, function), &is_new);
        return ++told->n > max && !is_new;
    }
    return false;
}

/* Of the thread that trains alone. */
static bool is_place_told(const struct tc_place_in_code *place)
{
    static bool is_noted;

    if (tc_frames_count_at(place) <= TC_ROLE_MAX_AT_A_PLACE)
        return false;
    if (!is_noted)
        tc_agent_note("loop", "a place computes more in a step than is told of it", 0);
    is_noted = true;
    return true;
}

/* The place in a line of the user's that calls. */
static bool find_place(struct tc_thread *thread, struct tc_place_in_code *place)
{
    bool is_user;

    thread->guard++;
    is_user = tc_frames_user_place(place);
    thread->guard--;
    return is_user;
}

/* Does a line of the user's call it? */
static bool is_own(struct tc_thread *thread)
{
    static struct batch_told told = {.batch = -1};
    struct tc_place_in_code place;

    if (tc_agent.worker || thread->number || !find_place(thread, &place))
        return false;
    return !is_batch_told(thread, &told, TC_ROLE_MAX_IN_BATCH, &place, NULL) &&
           !is_place_told(&place);
}

/* A function that the script defines, whoever calls it. */
static bool is_of_script(struct tc_thread *thread, struct tc_api *api)
{
    static struct batch_told told = {.batch = -1};
    struct tc_place_in_code place = {0};

    if (tc_agent.worker || thread->number || api->is_running)
        return false;
    api->n_told = api->told_step == tc_agent.step ? api->n_told : 0;
    api->told_step = tc_agent.step;
    if (api->n_told >= TC_ROLE_MAX_OF_A_FUNCTION)
        return false;
    (void)find_place(thread, &place);
    if (is_batch_told(thread, &told, TC_ROLE_MAX_OWN_IN_BATCH, &place, api))
        return false;
    api->n_told++;
    return true;
}

bool tc_call_is_traced(struct tc_thread *thread, struct tc_api *api)
{
    return !api->off && !thread->muted && !thread->is_capturing && !is_left_out(thread, api) &&
           (!(api->flags & TC_API_OWN) || is_own(thread)) &&
           (!tc_role_has(api->role, TC_TRAIT_APART) || is_of_script(thread, api));
}
