/* SPDX-License-Identifier: Apache-2.0 */
#include "relation/generations.h"

#include "base/banned.h"

/* By so much may clocks of two hosts differ; the next start comes later. */
#define SKEW_NS INT64_C(60000000000)

/* Nanoseconds between two lifetimes; not positive if they met. */
static int64_t gap(const struct tc_process *a, const struct tc_process *b)
{
    int64_t later = tc_process_began(a), earlier = tc_process_lived_until(b), ns;

    if (tc_process_began(b) > later) {
        later = tc_process_began(b);
        earlier = tc_process_lived_until(a);
    }
    return __builtin_sub_overflow(later, earlier, &ns) ? INT64_MAX : ns;
}

static bool work_together(const struct tc_process *a, const struct tc_process *b)
{
    if (a->restart >= 0 && b->restart >= 0)
        return a->restart == b->restart;
    if (!a->unix_ns || !b->unix_ns)
        return true;
    return gap(a, b) <= (tc_str_same(a->host, b->host) ? 0 : SKEW_NS);
}

static bool takes(const struct tc_generation *generation, const struct tc_process *process)
{
    if (tc_ranks_have(&generation->ranks, process->rank))
        return false;
    for (size_t i = 0; i < generation->members.n; i++)
        if (!work_together(generation->members.items[i], process))
            return false;
    return true;
}

static size_t find(struct tc_generations *g, const struct tc_process *process)
{
    struct tc_generation blank = {.ranks = {0}};
    size_t i = 0;

    while (i < g->items.n && !takes(&g->items.items[i], process))
        i++;
    if (i == g->items.n)
        tc_vec_push(&g->items, blank);
    return i;
}

size_t tc_generation_of(struct tc_generations *g, const struct tc_process *process)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&g->of_process, (uintptr_t)process, &is_new);

    if (is_new) {
        *slot = find(g, process);
        tc_vec_push(&g->items.items[*slot].members, process);
        tc_ranks_add(&g->items.items[*slot].ranks, process->rank);
    }
    return (size_t)*slot;
}

void tc_generations_release(struct tc_generations *g)
{
    for (size_t i = 0; i < g->items.n; i++) {
        tc_vec_release(&g->items.items[i].members);
        tc_ranks_release(&g->items.items[i].ranks);
    }
    tc_vec_release(&g->items);
    tc_map_release(&g->of_process);
}
