/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gathering.c - ranks on their way to a collective
 *
 * Ranks that come to a collective wait under the world's lock. The last one to come does the
 * work without the lock: until then the slots of all are its own. Ranks that come with unlike
 * collectives are a mismatch, which names their lines.
 */
#include "plan/world_state.h"

#include <stdio.h>

#include "plan/ledger.h"

static void tell_mismatch(struct tc_world *w, const struct tc_gathering *g,
                          const struct tc_participant *a, const struct tc_participant *b,
                          const char *how)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    const struct tc_plan_group *group = &w->set->groups.items[g->group];

    tc_strbuf_addf(&text, "collective %u of group {", g->number);
    for (uint32_t i = 0; i < group->n && i < 8; i++)
        tc_strbuf_addf(&text, "%s%u", i ? "," : "", group->ranks[i]);
    tc_strbuf_addf(&text, "%s}: rank %u ", group->n > 8 ? ",..." : "", a->run->plan->rank);
    tc_world_add_place(&text, a->op);
    tc_strbuf_addf(&text, ", rank %u ", b->run->plan->rank);
    tc_world_add_place(&text, b->op);
    tc_strbuf_addf(&text, ": %s", how);
    tc_world_fail(w, TC_WORLD_MISMATCH, b->op, b->run->plan->rank, text.text);
    tc_strbuf_release(&text);
}

static bool is_consistent(struct tc_world *w, const struct tc_gathering *g,
                          const struct tc_participant *new)
{
    struct tc_strbuf how = TC_STRBUF_INIT;
    const struct tc_plan_group *group = &w->set->groups.items[g->group];
    bool differs = false;

    for (uint32_t i = 0; i < group->n && !differs; i++)
        if (g->all[i].run && g->all[i].run != new->run) {
            differs = tc_collective_differs(&g->all[i], new, &how);
            if (differs)
                /* Whoever came first, the group's order tells. */
                tell_mismatch(w, g, &g->all[i] < new ? &g->all[i] : new,
                              &g->all[i] < new ? new : &g->all[i], how.text);
            break;
        }
    tc_strbuf_release(&how);
    return !differs;
}

static struct tc_gathering *gathering_of(struct tc_world *w, uint32_t group, uint32_t number)
{
    uint64_t *slot = tc_map_at(&w->gatherings, (uint64_t)group << 32 | number, &(bool){0});

    if (!*slot) {
        struct tc_gathering *g = tc_calloc(1, sizeof(*g));
        g->group = group;
        g->number = number;
        g->all = tc_calloc(w->set->groups.items[group].n, sizeof(*g->all));
        *slot = (uintptr_t)g;
    }
    return (struct tc_gathering *)(uintptr_t)*slot;
}

static void drop(struct tc_world *w, struct tc_gathering *g)
{
    tc_map_remove(&w->gatherings, (uint64_t)g->group << 32 | g->number);
    tc_free(g->all);
    tc_free(g);
}

/* The last one does the work; the slots of all are its own until then. */
static void complete(struct tc_world *w, struct tc_gathering *g, struct tc_arena *scratch)
{
    const struct tc_plan_group *group = &w->set->groups.items[g->group];
    struct tc_strbuf text = TC_STRBUF_INIT;
    char failure[160] = "";

    pthread_mutex_unlock(&w->lock);
    tc_collective_run(g->all, group->n, scratch, failure);
    if (w->watch->ledger && !*failure)
        tc_ledger_met(w->watch->ledger, g->all, group->n);
    for (uint32_t i = 0; i < group->n && w->watch->op && !*failure; i++)
        if (w->set->copies.of[group->ranks[i]] == group->ranks[i])
            w->watch->op(w->watch->context, g->all[i].run,
                         (uint32_t)(g->all[i].op - g->all[i].run->plan->program->ops.items));
    pthread_mutex_lock(&w->lock);
    if (*failure) {
        tc_world_add_place(&text, g->all[0].op);
        tc_strbuf_addf(&text, " (rank %u): %s", group->ranks[0], failure);
        tc_world_fail(w, TC_WORLD_MISMATCH, g->all[0].op, group->ranks[0], text.text);
        tc_strbuf_release(&text);
    }
    for (uint32_t i = 0; i < group->n; i++) {
        struct tc_world_rank *rank = &w->ranks[group->ranks[i]];
        if (w->set->copies.of[group->ranks[i]] != group->ranks[i])
            continue;
        tc_world_mark(rank, g->all[i].op, -1);
        tc_world_wake(w, rank);
    }
    drop(w, g);
}

/* A rank comes, and its copies with it. */
static void enter(struct tc_world *w, struct tc_gathering *g, struct tc_world_rank *rank,
                  const struct tc_plan_op *op)
{
    const struct tc_plan_group *group = &w->set->groups.items[g->group];

    for (uint32_t i = 0; i < group->n; i++)
        if (w->set->copies.of[group->ranks[i]] == rank->run.plan->rank) {
            g->all[i] = (struct tc_participant){&rank->run, op};
            g->arrived++;
        }
}

void tc_gathering_arrive(struct tc_world *w, struct tc_world_rank *rank,
                         const struct tc_plan_op *op, struct tc_arena *scratch)
{
    int64_t group_of_program = tc_collective_group(op);
    char text[300];

    if (group_of_program < 0) {
        snprintf(text, sizeof(text), "%s:%llu: field 'a': %.80s names no process group",
                 rank->run.plan->file, (unsigned long long)op->line, op->name);
        tc_world_fail(w, TC_WORLD_UNFIT, op, rank->run.plan->rank, text);
        return;
    }
    uint32_t group = rank->run.plan->groups[group_of_program];
    int64_t index = tc_plan_group_index(&w->set->groups.items[group], rank->run.plan->rank);
    if (index < 0) {
        snprintf(text, sizeof(text), "%s:%llu: rank %u is not in the group of its %.80s",
                 rank->run.plan->file, (unsigned long long)op->line, rank->run.plan->rank,
                 op->name);
        tc_world_fail(w, TC_WORLD_UNFIT, op, rank->run.plan->rank, text);
        return;
    }
    struct tc_gathering *g = gathering_of(w, group, rank->met[group_of_program]++);
    enter(w, g, rank, op);
    tc_world_mark(rank, op, 1);
    if (is_consistent(w, g, &g->all[index]) && g->arrived == w->set->groups.items[group].n)
        complete(w, g, scratch);
}

void tc_gatherings_release(struct tc_world *w)
{
    struct tc_gathering *g;

    for (size_t pos = 0; (g = tc_map_next(&w->gatherings, &pos));)
        tc_free(g->all);
    tc_map_release_structs(&w->gatherings);
}
