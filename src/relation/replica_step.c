/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_step.c - reports of ranks about one step, joined by name
 *
 * Of each variable and setting the two contents of the lowest ranks are kept, and what differs. So
 * a step is a set of reports: which rank comes first does not matter.
 */
#include "relation/replica_step.h"

#include <string.h>

#include "base/hash.h"
#include "relation/form.h"
#include "replay/setting.h"
#include "replay/symbols.h"

void tc_replica_step_free(struct tc_replica_step *step)
{
    tc_vec_release(&step->variables);
    tc_map_release(&step->by_name);
    tc_ranks_release(&step->ranks);
    tc_free(step);
}

void tc_replica_reports_release(struct tc_replica_reports *r)
{
    tc_map_release(&r->uneven);
    tc_map_release_structs(&r->adding);
    tc_map_release(&r->batches);
    tc_map_release(&r->seeds);
    tc_strtab_free(r->situations);
}

static bool is_same(const struct tc_snapshot *a, const struct tc_snapshot *b)
{
    return a->data == b->data && a->dtype == b->dtype && a->shape == b->shape;
}

/* Keep the two distinct contents of the lowest ranks: the same two in whatever order ranks come. */
static void add_content(struct tc_replica *replica, const struct tc_snapshot *now, int64_t rank)
{
    struct tc_replica_content *contents = replica->contents, swap;
    unsigned i = 0;

    while (i < replica->n_contents && !is_same(&contents[i].snapshot, now))
        i++;
    if (i == replica->n_contents && i < 2)
        contents[replica->n_contents++] = (struct tc_replica_content){*now, rank};
    else if (i == 2 && contents[1].rank > rank)
        contents[1] = (struct tc_replica_content){*now, rank};
    else if (i < 2 && contents[i].rank > rank)
        contents[i].rank = rank;
    if (replica->n_contents == 2 && contents[1].rank < contents[0].rank) {
        swap = contents[0];
        contents[0] = contents[1];
        contents[1] = swap;
    }
}

/* What a rank says of one tensor, or of one setting of a group. */
struct statement {
    const struct tc_variable *variable;
    tc_sym key;   /* what ranks are joined by: the name, with the setting or the part */
    tc_sym attr;  /* TC_NO_SYM for tensors */
    size_t index; /* of the setting in its group */
    int64_t rank;
    bool is_part;
};

static void keep_lowest(struct tc_replica_reports *r, struct tc_replica *replica,
                        const struct statement *said)
{
    struct tc_situation situation = {.n = 0};

    if (said->attr == TC_NO_SYM)
        tc_consistent_situation(&situation, said->variable);
    replica->situation =
        tc_strtab_intern(r->situations, situation.pairs, situation.n * sizeof(*situation.pairs));
    replica->rank = said->rank;
    replica->index = said->index;
    replica->variable = *said->variable;
    replica->variable.attrs = NULL;
    replica->variable.n_attrs = 0;
}

static void add_statement(struct tc_replica_reports *r, struct tc_replica_step *step,
                          const struct statement *said)
{
    const struct tc_snapshot now = tc_snapshot_of(said->variable);
    bool is_new;
    uint64_t *at = tc_map_at(&step->by_name, said->key, &is_new);

    if (is_new) {
        struct tc_replica replica = {.rank = INT64_MAX,
                                     .last_rank = -1,
                                     .attr = said->attr,
                                     .is_part = said->is_part,
                                     .first_shape = said->variable->first_shape};
        *at = step->variables.n;
        tc_vec_push(&step->variables, replica);
    }
    struct tc_replica *replica = &step->variables.items[*at];
    if (!replica->n_contents)
        add_content(replica, &now, said->rank);
    const struct tc_snapshot *other = &replica->contents[0].snapshot;
    /* Two of one name on one rank: a model that was built anew, beside the old one. */
    replica->is_incomparable |= !tc_snapshots_compare(other, &now) ||
                                (said->variable->is_sharded && !said->is_part) ||
                                replica->last_rank == said->rank;
    replica->last_rank = said->rank;
    replica->data_differs |= other->data != now.data;
    if (said->variable->has_first) {
        replica->first_differs |=
            replica->has_first && replica->first_data != said->variable->first_data;
        replica->first_data = said->variable->first_data;
        replica->has_first = true;
    }
    replica->is_sharded |= said->variable->is_sharded;
    replica->first_shape_differs |= replica->first_shape != said->variable->first_shape;
    replica->dtype_differs |= other->dtype != now.dtype;
    replica->shape_differs |= other->shape != now.shape;
    replica->n_ranks++;
    add_content(replica, &now, said->rank);
    if (said->rank < replica->rank)
        keep_lowest(r, replica, said);
}

static void report_variable(struct tc_replica_reports *r, struct tc_replica_step *step,
                            struct tc_strtab *symbols, const struct tc_variable *v, int64_t rank)
{
    struct statement said = {.variable = v, .key = v->name, .attr = TC_NO_SYM, .rank = rank};

    add_statement(r, step, &said);
    if (!v->is_sharded || v->part == TC_NO_SYM)
        return;
    said.key = TC_ATOM(symbols, v->name, v->part); /* no name has a space */
    said.is_part = true;
    add_statement(r, step, &said);
}

static void report_settings(struct tc_replica_reports *r, struct tc_replica_step *step,
                            const struct tc_settings *settings, int64_t rank)
{
    struct tc_variable v = {.serial = settings->serial,
                            .name = settings->name,
                            .kind = settings->kind,
                            .is_setting = true};

    for (size_t i = 0; i < settings->items.n; i++) {
        const struct tc_setting *item = &settings->items.items[i];
        const struct statement said = {
            .variable = &v, .key = item->path, .attr = item->attr, .index = i, .rank = rank};
        v.data = item->used;
        v.has_data = item->has_used;
        add_statement(r, step, &said);
    }
}

/* What the process was given in this window, if that is known. */
static void report_batch(struct tc_replica_reports *r, struct tc_replica_step *step,
                         const struct tc_process *process)
{
    struct tc_variable v = {.serial = TC_NONE,
                            .name = TC_SYM_BATCH,
                            .kind = TC_SYM_BATCH,
                            .has_data = true,
                            .is_setting = true};
    const struct statement said = {
        .variable = &v, .key = TC_SYM_BATCH, .attr = TC_SYM_BATCH, .rank = process->rank};

    if (tc_map_get(&r->batches, (uintptr_t)process, &v.data))
        add_statement(r, step, &said);
    tc_map_remove(&r->batches, (uintptr_t)process);
}

/* Settings of one group have one serial. */
#define SERIAL_OF_SAMPLER (TC_NONE + 1)

static void report_seed(struct tc_replica_reports *r, struct tc_replica_step *step,
                        const struct tc_process *process)
{
    struct tc_variable v = {.serial = SERIAL_OF_SAMPLER,
                            .name = TC_SYM_SAMPLER,
                            .kind = TC_SYM_SAMPLER,
                            .has_data = true,
                            .is_setting = true};
    const struct statement said = {
        .variable = &v, .key = TC_SYM_SAMPLER, .attr = TC_SYM_SEED, .rank = process->rank};

    if (tc_map_get(&r->seeds, (uintptr_t)process, &v.data))
        add_statement(r, step, &said);
}

/* Something that shuffles data and gives each rank its part of them: by seeds of their own ranks
 * have some samples twice, and others never. The first one of a process is reported. */
static void on_sampler(struct tc_replica_reports *r, const struct tc_event *event)
{
    const struct tc_value *attrs = tc_value_get(event->call->self, "attrs");
    const struct tc_value *seed = tc_value_get(attrs, "seed");
    uint64_t known;

    if (!seed || seed->kind != TC_VALUE_INT || !tc_value_is_true(tc_value_get(attrs, "shuffle")) ||
        !tc_value_get(attrs, "rank") ||
        tc_value_int(tc_value_get(attrs, "num_replicas"), 0) != event->process->world ||
        tc_map_get(&r->seeds, (uintptr_t)event->process, &known))
        return;
    tc_map_put(&r->seeds, (uintptr_t)event->process, (uint64_t)seed->integer);
}

/* A model is given something to train on. */
static void on_forward(struct tc_replica_reports *r, const struct tc_event *event)
{
    const struct tc_value *operand;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(event->call, &pos));) {
        const struct tc_str digest = tc_value_str(tc_value_get(operand, "digest"));
        bool is_new;
        if (!digest.text)
            continue;
        uint64_t *batch = tc_map_at(&r->batches, (uintptr_t)event->process, &is_new);
        *batch = tc_hash64(digest.text, digest.size, *batch);
    }
}

/* Imported traces tell of no module. */
static bool tells_roots(const struct tc_process *process)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));)
        if (v->root != TC_NONE)
            return true;
    return false;
}

/*
 * But what an optimizer holds and no module: it may be this rank's part of all weights, as ZeRO
 * cuts it out of a flat copy. The weights themselves are compared.
 */
static void report_variables(struct tc_replica_reports *r, struct tc_replica_step *step,
                             struct tc_strtab *symbols, const struct tc_process *process,
                             const struct tc_sink *sink)
{
    const bool needs_root = tells_roots(process);
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        if (!needs_root || v->root != TC_NONE)
            report_variable(r, step, symbols, v, process->rank);
        else
            tc_sink_excuse(sink, v->kind, TC_EXCUSE_NO_MODULE);
    }
}

/* All that its ranks would be compared in. */
static void excuse_all(const struct tc_process *process, enum tc_excuse excuse,
                       const struct tc_sink *sink)
{
    const struct tc_variable *v;
    const struct tc_settings *settings;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));)
        tc_sink_excuse(sink, v->kind, excuse);
    for (size_t pos = 0; (settings = tc_map_next(&process->settings, &pos));)
        tc_sink_excuse(sink, settings->kind, excuse);
}

void tc_replica_report(struct tc_replica_reports *r, struct tc_replica_step *step,
                       struct tc_strtab *symbols, const struct tc_event *event,
                       const struct tc_sink *sink)
{
    const struct tc_process *process = event->process;
    const struct tc_settings *settings;
    uint64_t ignored;

    if (step->world < process->world)
        step->world = process->world;
    if (!step->ranks.n || process->rank < step->place.rank)
        tc_place_of(event, &step->place);
    tc_ranks_add(&step->ranks, process->rank);
    tc_adding_join(&r->adding, process, &step->adding);
    if (tc_map_get(&r->uneven, (uintptr_t)process, &ignored)) {
        excuse_all(process, TC_EXCUSE_UNEVEN, sink);
    } else {
        report_variables(r, step, symbols, process, sink);
        report_batch(r, step, process);
        report_seed(r, step, process);
        for (size_t pos = 0; (settings = tc_map_next(&process->settings, &pos));)
            report_settings(r, step, settings, process->rank);
    }
}

void tc_replica_meet_call(struct tc_replica_reports *r, const struct tc_event *event)
{
    if (event->call->role == TC_ROLE_UNEVEN)
        tc_map_put(&r->uneven, (uintptr_t)event->process, 1);
    if (event->process->is_worker || event->process->world <= 1)
        return;
    tc_adding_meet_call(&r->adding, event);
    if (tc_is_training_forward(event->call))
        on_forward(r, event);
    else if (event->call->role == TC_ROLE_LIBRARY)
        on_sampler(r, event);
}
