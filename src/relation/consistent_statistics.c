/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_statistics.c - Consistent/statistics: an average has statistics of its own weights
 *
 * An average is a model whose parameters change though no optimizer steps them. Statistics are
 * buffers that forwards write to; the models that train show which these are. An average in
 * evaluation mode needs some that were made since the average was made, by a pass over data or by
 * copying those of its model.
 *
 * There is an example for each evaluation of such a model that has buffers of this kind.
 */
#include "relation/one_claim.h"

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
    struct tc_map moving;   /* (class of the owner, last part of the name) that forwards write to */
    uint64_t n_changes;     /* of variables, and optimizer steps */
};

static void progress_release(void *of_process)
{
    struct progress *progress = of_process;

    tc_map_release_structs(&progress->averages);
    tc_map_release(&progress->moved);
    tc_map_release(&progress->moving);
}

static uint64_t kind_of(const struct tc_strtab *symbols, const struct tc_variable *v)
{
    const char *name = tc_strtab_text(symbols, v->name), *leaf = strrchr(name, '.');

    leaf = leaf ? leaf + 1 : name;
    return tc_hash64(leaf, strlen(leaf), v->owner);
}

static bool has_changed(const struct tc_variable *v)
{
    return v->has_first && v->has_data && !v->is_sampled && v->data != v->first_data;
}

/* Counters of batches are no statistics, and nothing is computed from them. */
static bool is_statistic(const struct progress *progress, const struct tc_strtab *symbols,
                         const struct tc_variable *v)
{
    uint64_t ignored;

    return v->kind == TC_SYM_BUFFER && strstr(tc_strtab_text(symbols, v->dtype), "float") &&
           tc_map_get(&progress->moving, kind_of(symbols, v), &ignored);
}

static struct average look_at(const struct tc_hearing *h, int64_t root)
{
    const struct progress *progress = tc_hearing_state(h);
    struct average average = {0};
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&h->event->process->variables, &pos));) {
        if (v->root != root)
            continue;
        if (v->kind == TC_SYM_PARAMETER) {
            average.is_stepped |= v->stepped >= 0;
            average.has_moved |= has_changed(v);
        } else if (is_statistic(progress, h->symbols, v)) {
            average.has_made |= has_changed(v);
            if (!has_changed(v) &&
                (!average.a_statistic || v->serial < average.a_statistic->serial))
                average.a_statistic = v;
        }
    }
    return average;
}

/* Evaluations follow each other and change nothing: their variables are looked at once for all. */
static struct average average_of(const struct tc_hearing *h, int64_t root)
{
    struct progress *progress = tc_hearing_state(h);
    struct average *average = tc_map_struct(&progress->averages, (uint64_t)root, sizeof(*average));
    const uint64_t version = 1 + progress->n_changes + h->event->process->n_variables;

    if (average->version != version)
        *average = look_at(h, root);
    average->version = version;
    return *average;
}

static void judge_statistics(const struct tc_hearing *h)
{
    const struct progress *progress = tc_hearing_state(h);
    const int64_t root = tc_serial_of(h->event->call->self);
    const struct average average = average_of(h, root);

    /* Weights that a load wrote before the statistics were first told say nothing of these. */
    if (!average.is_stepped && average.has_moved && (average.has_made || average.a_statistic) &&
        tc_map_get(&progress->moved, (uint64_t)root, &(uint64_t){0}))
        tc_answer_of(h, average.has_made, (struct tc_example){.variable = average.a_statistic});
}

static void on_change(const struct tc_hearing *h)
{
    const struct tc_variable *v = h->event->variable;
    struct progress *progress = tc_hearing_state(h);

    progress->n_changes++;
    if (v->kind == TC_SYM_PARAMETER && v->root != TC_NONE)
        tc_map_put(&progress->moved, (uint64_t)v->root, 1);
    if (v->kind == TC_SYM_BUFFER && tc_root_around(h->event->call))
        tc_map_put(&progress->moving, kind_of(h->symbols, v), 1);
}

static void statistics_judge(const struct tc_hearing *h)
{
    const struct tc_event *event = h->event;

    if (event->process->has_samples)
        return;
    if (event->kind == TC_EVENT_CHANGE)
        on_change(h);
    else if (event->call->role == TC_ROLE_STEP)
        ((struct progress *)tc_hearing_state(h))->n_changes++;
    else if (!event->call->raised && !tc_call_is_training(event->call))
        judge_statistics(h);
}

const struct tc_relation_rule tc_rule_statistics = {
    TC_RULE(tc_rule_statistics),
    .form.name = "Consistent/statistics",
    .form.summary = "an average of weights is evaluated with statistics that were made since",
    .form.hint = "Does update_bn(), or a copy of the buffers, follow the averaging?",
    .source.name = "statistics",
    .source.judged = "an evaluation of an average of weights",
    .source.process_size = sizeof(struct progress),
    .source.release_process = progress_release,
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_BUFFER, TC_SYM_DATA, TC_SYM_CHANGED),
    TC_CLAIM_ATOMS(TC_SYM_BUFFER, TC_SYM_CHANGED, TC_SYM_UNCHANGED),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected = "an average of weights is evaluated with statistics that were made since",
    .claim.seen = "the weights have changed, %v never has: statistics of other weights",
    .at = TC_AT_ROOT | TC_AT(STEP) | TC_AT_CHANGE | TC_AT_RAISED,
    .judge = statistics_judge,
};
