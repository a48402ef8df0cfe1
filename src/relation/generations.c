/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generations.c - the first generation that has no such rank and whose members all fit
 *
 * Found once for a process and remembered by its address. Two intervals of a generation answer for
 * most processes without looking at its members; only where they leave it open each member is
 * asked. Clocks of two hosts may differ by SKEW_NS.
 */
#include "relation/generations.h"

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
    if (!__builtin_sub_overflow(later, earlier, &ns))
        return ns;
    return later < earlier ? INT64_MIN : INT64_MAX;
}

static bool work_together(const struct tc_process *a, const struct tc_process *b)
{
    if (a->restart >= 0 && b->restart >= 0)
        return a->restart == b->restart;
    if (!a->unix_ns || !b->unix_ns)
        return true;
    return gap(a, b) <= (tc_str_same(a->host, b->host) ? 0 : SKEW_NS);
}

static void widen(struct tc_generation *generation, const struct tc_process *member)
{
    int64_t began = tc_process_began(member), until = tc_process_lived_until(member);

    if (began > generation->last_began)
        generation->last_began = began;
    if (until < generation->lived_until)
        generation->lived_until = until;
}

/* Is it sure that it works with all members? Not to look at each keeps thousands of ranks from a
 * cost that grows with their square. */
static bool is_sure(const struct tc_generation *generation, const struct tc_process *process)
{
    if (process->restart >= 0)
        return generation->restart == process->restart;
    return tc_process_began(process) <= generation->lived_until &&
           generation->last_began <= tc_process_lived_until(process);
}

static bool works_with_all(struct tc_generation *generation, const struct tc_process *process)
{
    if (is_sure(generation, process))
        return true;
    generation->last_began = INT64_MIN;
    generation->lived_until = INT64_MAX;
    for (size_t i = 0; i < generation->members.n; i++)
        widen(generation, generation->members.items[i]);
    if (is_sure(generation, process))
        return true;
    for (size_t i = 0; i < generation->members.n; i++)
        if (!work_together(generation->members.items[i], process))
            return false;
    return true;
}

static bool takes(struct tc_generation *generation, const struct tc_process *process)
{
    return !tc_ranks_have(&generation->ranks, process->rank) && works_with_all(generation, process);
}

static size_t find_process(struct tc_generations *g, const struct tc_process *process)
{
    struct tc_generation blank = {
        .lived_until = INT64_MAX, .last_began = INT64_MIN, .restart = process->restart};
    size_t i = 0;

    while (i < g->items.n && !takes(&g->items.items[i], process))
        i++;
    if (i == g->items.n)
        tc_vec_push(&g->items, blank);
    return i;
}

static void add(struct tc_generation *generation, const struct tc_process *process)
{
    tc_vec_push(&generation->members, process);
    tc_ranks_add(&generation->ranks, process->rank);
    widen(generation, process);
    if (generation->restart != process->restart)
        generation->restart = -1;
}

size_t tc_generation_of(struct tc_generations *g, const struct tc_process *process)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&g->of_process, (uintptr_t)process, &is_new);

    if (is_new) {
        *slot = find_process(g, process);
        add(&g->items.items[*slot], process);
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
