/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_statistics.c - Consistent/statistics: an average has statistics of its own weights
 *
 * An average is a model whose parameters change though no optimizer steps them. Statistics are
 * buffers that forwards write to: which these are the models tell that train. An average that is
 * asked in evaluation mode needs some that were made since it was made, by a pass over data or by
 * copying those of its model.
 *
 * An example for each evaluation of such a model that has buffers of this kind.
 */
#include "relation/claims.h"
#include "relation/consistent.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

/* Of one root. */
struct average {
    uint64_t version;                      /* of its process when this was so; 0: never looked at */
    bool is_stepped, has_moved;            /* its parameters */
    bool has_made;                         /* one of its statistics */
    const struct tc_variable *a_statistic; /* that was not made; NULL: none */
};

/* Of one process. */
struct progress {
    struct tc_map averages; /* root → struct average * */
    struct tc_map moved;    /* root of a parameter that changed when all of its model was known */
    uint64_t n_changes;     /* of variables, and optimizer steps */
};

struct statistics_state {
    struct tc_process_states processes; /* struct progress */
    struct tc_map moving; /* (process, class of the owner, last part of the name) that forwards
                             write to */
};

static void progress_release(void *of_process)
{
    struct progress *progress = of_process;

    tc_map_release_structs(&progress->averages);
    tc_map_release(&progress->moved);
}

static void statistics_release(void *state)
{
    tc_map_release(&((struct statistics_state *)state)->moving);
}

static uint64_t kind_of(const struct tc_strtab *symbols, const struct tc_process *process,
                        const struct tc_variable *v)
{
    const char *name = tc_strtab_text(symbols, v->name), *leaf = strrchr(name, '.');

    leaf = leaf ? leaf + 1 : name;
    return tc_hash64(leaf, strlen(leaf), (uintptr_t)process ^ v->owner);
}

/* Is it inside of the forward of a model? */
static bool is_forward(const struct tc_call *call)
{
    while (call && !call->is_root)
        call = call->parent;
    return call != NULL;
}

static bool has_changed(const struct tc_variable *v)
{
    return v->has_first && v->has_data && !v->is_sampled && v->data != v->first_data;
}

/* Counters of batches are no statistics, and nothing is computed from them. */
static bool is_statistic(const struct statistics_state *s, const struct tc_strtab *symbols,
                         const struct tc_process *process, const struct tc_variable *v)
{
    uint64_t ignored;

    return v->kind == TC_SYM_BUFFER && strstr(tc_strtab_text(symbols, v->dtype), "float") &&
           tc_map_get(&s->moving, kind_of(symbols, process, v), &ignored);
}

static struct average look_at(const struct statistics_state *s, const struct tc_strtab *symbols,
                              const struct tc_process *process, int64_t root)
{
    struct average average = {0};
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        if (v->root != root)
            continue;
        if (v->kind == TC_SYM_PARAMETER) {
            average.is_stepped |= v->stepped >= 0;
            average.has_moved |= has_changed(v);
        } else if (is_statistic(s, symbols, process, v)) {
            average.has_made |= has_changed(v);
            if (!has_changed(v) &&
                (!average.a_statistic || v->serial < average.a_statistic->serial))
                average.a_statistic = v;
        }
    }
    return average;
}

/* Evaluations follow each other and change nothing: their variables are looked at once for all. */
static struct average average_of(struct statistics_state *s, const struct tc_strtab *symbols,
                                 const struct tc_process *process, int64_t root)
{
    struct progress *progress = tc_process_state(s, process);
    struct average *average = tc_map_struct(&progress->averages, (uint64_t)root, sizeof(*average));
    const uint64_t version = 1 + progress->n_changes + process->variables.n;

    if (average->version != version)
        *average = look_at(s, symbols, process, root);
    average->version = version;
    return *average;
}

static struct progress *progress_of(struct statistics_state *s, const struct tc_event *event)
{
    return tc_process_state(s, event->process);
}

static void judge(struct statistics_state *s, struct tc_strtab *symbols,
                  const struct tc_event *event, const struct tc_sink *sink)
{
    const int64_t root = tc_value_int(tc_value_get(event->call->self, "id"), TC_NONE);
    const struct average average = average_of(s, symbols, event->process, root);
    tc_sym outcome[1];

    /* Weights that a load wrote before the statistics were first told say nothing of these. */
    if (average.is_stepped || !average.has_moved || (!average.has_made && !average.a_statistic) ||
        !tc_map_get(&progress_of(s, event)->moved, (uint64_t)root, &(uint64_t){0}))
        return;
    outcome[0] = average.has_made ? TC_SYM_CHANGED : TC_SYM_UNCHANGED;
    tc_consistent_emit(sink, event, TC_SYM_BUFFER, &tc_no_situation, outcome, 1,
                       average.a_statistic);
}

static void on_change(struct statistics_state *s, const struct tc_strtab *symbols,
                      const struct tc_event *event)
{
    const struct tc_variable *v = event->variable;
    struct progress *progress = progress_of(s, event);

    progress->n_changes++;
    if (v->kind == TC_SYM_PARAMETER && v->root != TC_NONE)
        tc_map_put(&progress->moved, (uint64_t)v->root, 1);
    if (v->kind == TC_SYM_BUFFER && is_forward(event->call))
        tc_map_put(&s->moving, kind_of(symbols, event->process, v), 1);
}

static void statistics_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                               const struct tc_sink *sink)
{
    struct statistics_state *s = state;

    if (!event->process || event->process->is_worker || event->process->has_samples)
        return;
    if (event->kind == TC_EVENT_CHANGE)
        on_change(s, symbols, event);
    else if (event->kind == TC_EVENT_CALL && event->call->role == TC_ROLE_STEP)
        progress_of(s, event)->n_changes++;
    else if (event->kind == TC_EVENT_CALL && event->call->is_root && !event->call->raised &&
             !tc_call_is_training(event->call))
        judge(s, symbols, event, sink);
}

const struct tc_source tc_source_statistics = {.name = "statistics",
                                               .judged = "an evaluation of an average of weights",
                                               .is_set = true,
                                               .state_size = sizeof(struct statistics_state),
                                               .release = statistics_release,
                                               .process_size = sizeof(struct progress),
                                               .release_process = progress_release,
                                               .observe = statistics_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_BUFFER},
     .kind = TC_SYM_BUFFER,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_DATA,
     .to = TC_SYM_CHANGED,
     .held = {TC_SYM_CHANGED},
     .broken = {TC_SYM_UNCHANGED},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .expected = "an average of weights is evaluated with statistics that were made since",
     .seen = "the weights have changed, %v never has: statistics of other weights",
     },
};

const struct tc_relation tc_consistent_statistics = {
    .name = "Consistent/statistics",
    .summary = "an average of weights is evaluated with statistics that were made since",
    .hint = "Does update_bn(), or a copy of the buffers, follow the averaging?",
    .source = &tc_source_statistics,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
