/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - what is kept of a process: made, freed, and where its run ended
 */
#include "fact/facts.h"

struct tc_fact_watch *tc_fact_watch_of(struct tc_facts *facts, const struct tc_process *process)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&facts->watches, (uintptr_t)process, &is_new);

    if (is_new) {
        struct tc_fact_watch *w = tc_calloc(1, sizeof(*w));
        w->process = process;
        w->horizon = -1;
        w->nexts.last = (struct tc_fact_last){TC_NO_SYM, TC_NO_SYM};
        w->label_tuples = tc_strtab_new();
        w->counter_tuples = tc_strtab_new();
        *slot = (uintptr_t)w;
        tc_vec_push(&facts->all, w);
    }
    return (struct tc_fact_watch *)(uintptr_t)*slot;
}

static void release_nexts(struct tc_fact_nexts *nexts)
{
    for (size_t i = 0; i < nexts->pairs.n; i++)
        tc_vec_release(&nexts->pairs.items[i].next);
    tc_vec_release(&nexts->pairs);
    tc_vec_release(&nexts->strays);
    tc_strtab_free(nexts->tuples);
}

static void release_shared(struct tc_fact_watch *w)
{
    for (size_t i = 0; i < w->shared.n; i++)
        tc_vec_release(&w->shared.items[i].occasions);
    tc_vec_release(&w->shared);
    tc_map_release(&w->shared_places);
}

void tc_fact_watch_free(struct tc_fact_watch *w)
{
    for (size_t i = 0; i < w->changes.n; i++)
        tc_vec_release(&w->changes.items[i].names);
    tc_vec_release(&w->changes);
    tc_vec_release(&w->settings);
    tc_vec_release(&w->open);
    tc_vec_release(&w->own);
    tc_vec_release(&w->labels);
    tc_vec_release(&w->counters);
    tc_vec_release(&w->trends);
    release_shared(w);
    tc_map_release(&w->trend_places);
    tc_map_release(&w->met);
    tc_strtab_free(w->label_tuples);
    tc_strtab_free(w->counter_tuples);
    tc_map_release(&w->producers);
    tc_map_release(&w->old_producers);
    tc_map_release(&w->newest);
    tc_map_release(&w->stepped);
    tc_map_release(&w->owners);
    tc_map_release(&w->taints);
    tc_map_release(&w->choices);
    tc_map_release(&w->loaded);
    tc_map_release(&w->stand_ins);
    tc_map_release(&w->cut);
    tc_map_release(&w->origins);
    release_nexts(&w->nexts);
    tc_free(w);
}

struct tc_place tc_fact_end_of(const struct tc_fact_watch *w)
{
    const struct tc_process *process = w->process;
    int64_t t = tc_process_lived_until(process);

    return (struct tc_place){.file = process->file,
                             .rank = process->rank,
                             .step = process->window.step,
                             .unix_ns = process->unix_ns ? t : 0,
                             .begin_ns = t,
                             .end_ns = t,
                             .window = process->window.number,
                             .order = UINT64_MAX >> 1,
                             .stage = TC_SYM_EMPTY,
                             .at = TC_SYM_EMPTY,
                             .call = TC_SYM_EMPTY};
}
