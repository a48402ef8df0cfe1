/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draws.c - a running digest for each process, added up at the end
 *
 * The sum does not depend on the order in which files are read. DataLoader workers are left out:
 * how batches are shared among them is no part of a seed.
 */
#include "infer/draws.h"

#include "base/hash.h"
#include "trace/scan.h"

static uint64_t *digest_of(struct tc_draws *draws, const struct tc_process *process)
{
    bool is_new;

    return tc_map_at(&draws->processes, (uintptr_t)process, &is_new);
}

static void mix(struct tc_draws *draws, const struct tc_process *process,
                const struct tc_value *value)
{
    static const struct tc_value nothing = {.kind = TC_VALUE_NULL};
    uint64_t *digest = digest_of(draws, process);

    *digest = tc_value_hash(*digest, value ? value : &nothing);
}

static void keep_seeds(struct tc_draws *draws, const struct tc_call *call)
{
    const struct tc_value *args = call->args;

    if (!args || args->kind != TC_VALUE_OBJECT)
        return;
    for (uint32_t i = 0; i < args->n && draws->n_seeds < TC_DRAWS_SEEDS; i++)
        if (args->members[i].value.kind == TC_VALUE_INT)
            draws->seeds[draws->n_seeds++] = args->members[i].value.integer;
}

static void meet_call(struct tc_draws *draws, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *value = call->end ? call->end->value : NULL;
    const bool is_seed = call->role == TC_ROLE_SEED;

    if (!is_seed && call->role != TC_ROLE_DRAW && call->role != TC_ROLE_DATA)
        return;
    if (is_seed)
        mix(draws, event->process, call->args);
    mix(draws, event->process, value);
    draws->n_drawn += call->role != TC_ROLE_DATA;
    if (is_seed && event->process->rank <= 0)
        keep_seeds(draws, call);
}

void tc_draws_meet(struct tc_draws *draws, const struct tc_event *event)
{
    if (!event->process || event->process->is_worker)
        return;
    if (event->kind == TC_EVENT_CALL)
        meet_call(draws, event);
    if (event->kind != TC_EVENT_VARIABLE || !event->is_new || !event->variable)
        return;
    const uint64_t content = event->variable->has_first ? event->variable->first_data : 0;
    uint64_t *digest = digest_of(draws, event->process);
    *digest = tc_hash64(&content, sizeof(content), *digest);
}

void tc_draws_finish(struct tc_draws *draws)
{
    size_t at = 0;
    uint64_t key, digest;

    while (tc_map_each(&draws->processes, &at, &key, &digest))
        draws->digest += tc_hash64(&digest, sizeof(digest), 0);
    tc_map_release(&draws->processes);
}

bool tc_draws_are_equal(const struct tc_draws *a, const struct tc_draws *b)
{
    return a->n_drawn && a->n_drawn == b->n_drawn && a->digest == b->digest;
}

bool tc_draws_seeds(const struct tc_draws *a, const struct tc_draws *b, int64_t seeds[2])
{
    for (size_t i = 0; i < a->n_seeds && i < b->n_seeds; i++) {
        seeds[0] = a->seeds[i];
        seeds[1] = b->seeds[i];
        if (seeds[0] != seeds[1])
            return true;
    }
    return false;
}
