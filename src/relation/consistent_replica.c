/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_replica.c - Consistent/replica: the same variable on all ranks, once all have finished
 * the step
 *
 * Of parameter groups and scalers that is compared which the optimizer step has used: what is set
 * after it is for the next one, and may be set in this window or in that.
 *
 * Once a rank may take another number of steps than others (role uneven), step n of one is not step
 * n of another, and nothing is compared any more.
 *
 * Of a variable that ranks hold parts of, those that hold the same part are compared.
 *
 * Ranks may go their own ways on purpose and meet again, as in local SGD: steps in which most of
 * what trains differs are kept back, and of what trains nothing is said in them once all of it is
 * equal again. Nor of the last step alone: what joins the ranks there may follow the last look.
 *
 * A weight that differs from the start, where others are the same, is this rank's part of a whole:
 * tensor parallelism by hand leaves no mark of that on it. So may be one of the same module that
 * began as a constant, which another one began as, too: a bias of zeros tells nothing of ranks.
 *
 * Where a parameter of a model had another shape on another rank when it was first seen, the ranks
 * hold stages of a pipeline by hand, which have names in common and nothing else.
 *
 * Ranks that have all of their weights in common share the work, so that each is given a batch of
 * its own. What models are given for training in a step is compared as one thing more: that it is
 * equal counts from the third step in a row on, and only where everything that trains is known to
 * be a replica. Parts of one model, in a tensor or a pipeline, are rightly given the same.
 *
 * A step waits until every rank of the world has reported it. Nothing here depends on which rank
 * comes first: a step is a set of reports, told from where its lowest rank stood. Steps that wait
 * for a rank in vain are judged with those present when an event says that the wait is over, or
 * when they would take too much memory; that rank is waited for again once it reports.
 */
#include "relation/consistent.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "relation/generations.h"
#include "relation/third_time.h"
#include "replay/setting.h"
#include "replay/symbols.h"

/* Bytes of steps that may wait. Files are read by step, so that ranks which have a file are never
 * so far apart. */
#define MAX_HELD ((size_t)32 << 20)

/* So many steps may ranks go their own ways before they meet again. */
#define MAX_APART 64

/* Ranks of a world above this are not followed one by one. */
#define MAX_RANKS 65536

/* A distinct content of a variable, with the lowest rank that has it. */
struct content {
    struct tc_snapshot snapshot;
    int64_t rank;
};

/* One variable in one step. */
struct replica {
    struct tc_variable variable; /* as on the lowest rank; its attrs are not kept */
    tc_sym attr;                 /* of a setting: which one; TC_NO_SYM for tensors */
    size_t index;                /* of the setting in its group, there */
    int64_t rank;                /* the lowest */
    tc_sym situation;            /* there; a symbol of replica_state.situations */
    int64_t n_ranks, last_rank;  /* that had it; that said so last */
    struct content contents[2];  /* those of the lowest ranks, lowest first */
    unsigned n_contents;
    bool data_differs, dtype_differs, shape_differs, is_incomparable;
    bool is_part;             /* of the ranks that hold one part of it; others hold other parts */
    uint64_t first_data;      /* on the rank that reported first, when it was first seen */
    bool first_differs;       /* on another one it was another */
    tc_sym first_shape;       /* there and then */
    bool first_shape_differs; /* on another one it was another */
    bool is_sharded;          /* on one of them */
    bool is_stage;            /* its model is another one on each rank */
    bool is_own;              /* each rank has one of its own, and always had */
    bool is_untold;           /* a batch of which nothing can be said */
};

struct pending_step {
    int64_t step, world;
    struct tc_ranks ranks; /* that reported */
    struct tc_place place; /* of the lowest */
    TC_VEC(struct replica) variables;
    struct tc_map by_name; /* name → place in variables */
};

/* The steps of one generation of processes. */
struct steps {
    TC_VEC(struct pending_step *) items; /* by step */
    TC_VEC(struct pending_step *) apart; /* settled but not told, until the ranks meet again */
    uint64_t n_alike;                    /* with one batch for all ranks, in a row */
    size_t longest;  /* so many steps in a row were they apart, at most, before they met again */
    bool has_parted; /* they did not: later steps are told at once */
    bool have_met;   /* in some step they were the same */
    struct tc_ranks absent; /* not waited for until they report again */
    int64_t given_up;       /* the last step that was judged without some ranks */
};

struct replica_state {
    struct tc_generations generations;
    TC_VEC(struct steps) steps; /* by generation */
    struct tc_strtab *situations;
    struct tc_map batches; /* process → digest of what models were given in the open window */
    struct tc_map seeds;   /* process → that by which its first sampler parts the data */
    struct tc_map uneven;  /* processes whose steps are not those of the other ranks */
    size_t held;
};

static size_t bytes_of(const struct pending_step *step)
{
    return sizeof(*step) +
           step->variables.n * (sizeof(struct replica) + sizeof(struct tc_map_slot));
}

static void free_step(struct pending_step *step)
{
    tc_vec_release(&step->variables);
    tc_map_release(&step->by_name);
    tc_ranks_release(&step->ranks);
    tc_free(step);
}

static void replica_release(void *state)
{
    struct replica_state *r = state;

    for (size_t i = 0; i < r->steps.n; i++) {
        struct steps *steps = &r->steps.items[i];
        for (size_t k = 0; k < steps->items.n; k++)
            free_step(steps->items.items[k]);
        for (size_t k = 0; k < steps->apart.n; k++)
            free_step(steps->apart.items[k]);
        tc_vec_release(&steps->items);
        tc_vec_release(&steps->apart);
        tc_ranks_release(&steps->absent);
    }
    tc_vec_release(&r->steps);
    tc_generations_release(&r->generations);
    tc_map_release(&r->uneven);
    tc_map_release(&r->batches);
    tc_map_release(&r->seeds);
    tc_strtab_free(r->situations);
}

static size_t replica_held(const void *state)
{
    return ((const struct replica_state *)state)->held;
}

/* Where the step waits, or would stand. */
static size_t find_step(const struct steps *steps, int64_t number)
{
    size_t i = steps->items.n;

    while (i && steps->items.items[i - 1]->step >= number)
        i--;
    return i;
}

static struct pending_step *step_at(struct replica_state *r, struct steps *steps, int64_t number,
                                    size_t *at)
{
    struct pending_step *step, **items;
    size_t i = *at = find_step(steps, number);

    if (i < steps->items.n && steps->items.items[i]->step == number)
        return steps->items.items[i];
    step = tc_calloc(1, sizeof(*step));
    step->step = number;
    tc_vec_push(&steps->items, step);
    items = steps->items.items;
    memmove(&items[i + 1], &items[i], (steps->items.n - 1 - i) * sizeof(*items));
    items[i] = step;
    r->held += bytes_of(step);
    return step;
}

static struct steps *steps_of(struct replica_state *r, const struct tc_process *process)
{
    size_t number = tc_generation_of(&r->generations, process);
    const struct steps none = {.given_up = INT64_MIN};

    if (!r->situations)
        r->situations = tc_strtab_new();
    while (r->steps.n <= number)
        tc_vec_push(&r->steps, none);
    return &r->steps.items[number];
}

/* ---- reports ------------------------------------------------------------------------------- */

static bool is_same(const struct tc_snapshot *a, const struct tc_snapshot *b)
{
    return a->data == b->data && a->dtype == b->dtype && a->shape == b->shape;
}

/* Keep the two distinct contents of the lowest ranks: the same two in whatever order ranks come. */
static void add_content(struct replica *replica, const struct tc_snapshot *now, int64_t rank)
{
    struct content *contents = replica->contents, swap;
    unsigned i = 0;

    while (i < replica->n_contents && !is_same(&contents[i].snapshot, now))
        i++;
    if (i == replica->n_contents && i < 2)
        contents[replica->n_contents++] = (struct content){*now, rank};
    else if (i == 2 && contents[1].rank > rank)
        contents[1] = (struct content){*now, rank};
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

static void keep_lowest(struct replica_state *r, struct replica *replica,
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

static void add_statement(struct replica_state *r, struct pending_step *step,
                          const struct statement *said)
{
    const struct tc_snapshot now = tc_snapshot_of(said->variable);
    bool is_new;
    uint64_t *at = tc_map_at(&step->by_name, said->key, &is_new);

    if (is_new) {
        struct replica replica = {.rank = INT64_MAX,
                                  .last_rank = -1,
                                  .attr = said->attr,
                                  .is_part = said->is_part,
                                  .first_data = said->variable->first_data,
                                  .first_shape = said->variable->first_shape};
        *at = step->variables.n;
        tc_vec_push(&step->variables, replica);
    }
    struct replica *replica = &step->variables.items[*at];
    if (!replica->n_contents)
        add_content(replica, &now, said->rank);
    const struct tc_snapshot *other = &replica->contents[0].snapshot;
    /* Two of one name on one rank: a model that was built anew, beside the old one. */
    replica->is_incomparable |= !tc_snapshots_compare(other, &now) ||
                                (said->variable->is_sharded && !said->is_part) ||
                                replica->last_rank == said->rank;
    replica->last_rank = said->rank;
    replica->data_differs |= other->data != now.data;
    replica->first_differs |=
        said->variable->has_first && replica->first_data != said->variable->first_data;
    replica->is_sharded |= said->variable->is_sharded;
    replica->first_shape_differs |= replica->first_shape != said->variable->first_shape;
    replica->dtype_differs |= other->dtype != now.dtype;
    replica->shape_differs |= other->shape != now.shape;
    replica->n_ranks++;
    add_content(replica, &now, said->rank);
    if (said->rank < replica->rank)
        keep_lowest(r, replica, said);
}

static void report_variable(struct replica_state *r, struct pending_step *step,
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

static void report_settings(struct replica_state *r, struct pending_step *step,
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
static void report_batch(struct replica_state *r, struct pending_step *step,
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

static void report_seed(struct replica_state *r, struct pending_step *step,
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
 * have some samples twice, and others never. The first one of a process is told. */
static void on_sampler(struct replica_state *r, const struct tc_event *event)
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
static void on_forward(struct replica_state *r, const struct tc_event *event)
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
static void report_variables(struct replica_state *r, struct pending_step *step,
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

static void report(struct replica_state *r, struct pending_step *step, struct tc_strtab *symbols,
                   const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_process *process = event->process;
    const struct tc_settings *settings;
    uint64_t ignored;

    r->held -= bytes_of(step);
    if (step->world < process->world)
        step->world = process->world;
    if (!step->ranks.n || process->rank < step->place.rank)
        tc_place_of(event, &step->place);
    tc_ranks_add(&step->ranks, process->rank);
    if (tc_map_get(&r->uneven, (uintptr_t)process, &ignored)) {
        excuse_all(process, TC_EXCUSE_UNEVEN, sink);
    } else {
        report_variables(r, step, symbols, process, sink);
        report_batch(r, step, process);
        report_seed(r, step, process);
        for (size_t pos = 0; (settings = tc_map_next(&process->settings, &pos));)
            report_settings(r, step, settings, process->rank);
    }
    r->held += bytes_of(step);
}

/* ---- verdicts ------------------------------------------------------------------------------ */

/* What explain tells: whose content, and who did not report. */
struct detail {
    const struct pending_step *step;
    const struct replica *replica;
};

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Serials are those of the lowest rank, which need not be the same for two parts. */
static int by_serial(const void *a, const void *b)
{
    const struct replica *x = *(const struct replica *const *)a;
    const struct replica *y = *(const struct replica *const *)b;
    int order = compare(x->variable.serial, y->variable.serial);

    if (!order)
        order = compare((int64_t)x->index, (int64_t)y->index);
    if (!order)
        order = compare(x->is_part, y->is_part);
    return order ? order : compare(x->rank, y->rank);
}

/* Does it train, so that ranks that go their own ways differ in it? */
static bool is_trained(const struct replica *replica)
{
    return !replica->variable.is_setting && !replica->is_incomparable && !replica->is_part &&
           !replica->is_own && !replica->is_stage && replica->variable.kind == TC_SYM_PARAMETER &&
           replica->variable.requires_grad;
}

/* The answers; at most three. has_met: ranks that went their own ways on purpose. */
static size_t outcome_of(const struct replica *replica, bool has_met, struct tc_strtab *symbols,
                         tc_sym *out)
{
    size_t n = 0;

    if (replica->variable.kind == TC_SYM_BATCH) {
        out[n++] = tc_consistent_agreement(symbols, TC_SYM_DATA, !replica->data_differs);
        return n;
    }
    if (replica->variable.is_setting) {
        const bool is_seed = replica->variable.kind == TC_SYM_SAMPLER;
        if (!replica->is_incomparable)
            out[n++] = tc_consistent_agreement(symbols, is_seed ? TC_SYM_SEED : TC_SYM_SETTINGS,
                                               !replica->data_differs);
        return n;
    }
    /* Ranks see batches of their own, and so have running statistics of their own. */
    if (!replica->is_incomparable && replica->variable.kind != TC_SYM_BUFFER && !replica->is_own &&
        !(has_met && is_trained(replica)))
        out[n++] = tc_consistent_agreement(symbols, TC_SYM_DATA, !replica->data_differs);
    if (replica->is_part) /* the rest is told of the whole */
        return n;
    out[n++] = tc_consistent_agreement(symbols, TC_SYM_DTYPE, !replica->dtype_differs);
    out[n++] = tc_consistent_agreement(symbols, TC_SYM_SHAPE, !replica->shape_differs);
    tc_sym_sort(out, n);
    return n;
}

/* Why nothing is said of the content. */
static tc_excuses excuses_of(const struct replica *replica, bool has_met)
{
    return (has_met && is_trained(replica) ? TC_EXCUSE_BIT(TC_EXCUSE_LOCAL_SGD) : 0) |
           (replica->is_own ? TC_EXCUSE_BIT(TC_EXCUSE_OWN_PART) : 0) |
           (replica->is_incomparable ? TC_EXCUSE_BIT(TC_EXCUSE_INCOMPARABLE) : 0);
}

static void judge_variable(const struct replica_state *r, const struct pending_step *step,
                           const struct replica *replica, bool has_met, struct tc_strtab *symbols,
                           const struct tc_event *event, const struct tc_sink *sink)
{
    const struct detail detail = {step, replica};
    size_t size = tc_strtab_size(r->situations, replica->situation);
    struct tc_situation situation = {.n = size / sizeof(*situation.pairs)};
    tc_sym outcome[3];

    memcpy(situation.pairs, tc_strtab_text(r->situations, replica->situation), size);
    size_t n = outcome_of(replica, has_met, symbols, outcome);
    struct tc_example example = {.key = replica->variable.kind,
                                 .situation = &situation,
                                 .outcome = outcome,
                                 .n_outcome = n,
                                 .excuses = excuses_of(replica, has_met),
                                 .variable = &replica->variable,
                                 .place = &step->place,
                                 .detail = &detail};
    sink->example(sink->context, event, &example);
}

/* All settings of a group are one example: of the first that differs, or else of the first. */
static const struct replica *one_of_group(const struct replica **sorted, size_t n, size_t *i)
{
    const struct replica *one = sorted[*i];

    while (*i + 1 < n && sorted[*i + 1]->variable.is_setting &&
           sorted[*i + 1]->variable.serial == one->variable.serial) {
        (*i)++;
        if (!one->data_differs && sorted[*i]->data_differs)
            one = sorted[*i];
    }
    return one;
}

/* What all ranks that reported have in common, and a part that two of them hold. */
static bool is_shared(const struct pending_step *step, const struct replica *replica)
{
    return replica->n_ranks > 1 && (replica->is_part || replica->n_ranks == step->ranks.n);
}

/* Judge what ranks have in common, and forget the step. */
static void tell(const struct replica_state *r, struct pending_step *step, bool has_met,
                 struct tc_strtab *symbols, const struct tc_event *event,
                 const struct tc_sink *sink)
{
    const struct replica **sorted = tc_malloc((step->variables.n + 1) * sizeof(*sorted));
    size_t n = 0;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct replica *replica = &step->variables.items[i];
        if (replica->is_untold)
            continue;
        if (!is_shared(step, replica))
            tc_sink_excuse(sink, replica->variable.kind, TC_EXCUSE_NOT_SHARED);
        else if (replica->is_stage)
            tc_sink_excuse(sink, replica->variable.kind, TC_EXCUSE_STAGES);
        else
            sorted[n++] = replica;
    }
    qsort(sorted, n, sizeof(*sorted), by_serial);
    for (size_t i = 0; i < n; i++) {
        const struct replica *replica =
            sorted[i]->variable.is_setting ? one_of_group(sorted, n, &i) : sorted[i];
        judge_variable(r, step, replica, has_met, symbols, event, sink);
    }
    tc_free(sorted);
    free_step(step);
}

static void tell_apart(const struct replica_state *r, struct steps *steps, bool has_met,
                       struct tc_strtab *symbols, const struct tc_event *event,
                       const struct tc_sink *sink)
{
    if (has_met && steps->longest < steps->apart.n)
        steps->longest = steps->apart.n;
    for (size_t i = 0; i < steps->apart.n; i++)
        tell(r, steps->apart.items[i], has_met, symbols, event, sink);
    steps->apart.n = 0;
    steps->has_parted = !has_met;
}

/* Had it another shape on another rank before anything was done to it? Of what all ranks have, the
 * lowest rank is the same, and so is whose roots are told. */
static bool began_in_other_shape(const struct pending_step *step, const struct replica *replica)
{
    return replica->first_shape_differs && replica->variable.kind == TC_SYM_PARAMETER &&
           replica->variable.root != TC_NONE && !replica->is_sharded && is_shared(step, replica);
}

/* All of a model whose ranks hold other stages of it. */
static void find_stages(struct pending_step *step)
{
    struct tc_map roots = TC_MAP_INIT;
    uint64_t ignored;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct replica *replica = &step->variables.items[i];
        if (began_in_other_shape(step, replica))
            tc_map_put(&roots, (uint64_t)replica->variable.root, 1);
    }
    for (size_t i = 0; i < step->variables.n; i++) {
        struct replica *replica = &step->variables.items[i];
        replica->is_stage = !replica->variable.is_setting && is_shared(step, replica) &&
                            tc_map_get(&roots, (uint64_t)replica->variable.root, &ignored);
    }
    tc_map_release(&roots);
}

/* Of "model.head.bias" that of "model.head". */
static uint64_t module_of(const struct tc_strtab *symbols, const struct replica *replica)
{
    const char *name = tc_strtab_text(symbols, replica->variable.name);
    const char *end = strrchr(name, '.');

    return tc_hash64(name, end ? (size_t)(end - name) : 0, 0);
}

/* What began as a constant, in a module that has parts of its own: this may be a part as well. A
 * constant is what two variables began as. */
static void find_constant_parts(struct pending_step *step, const struct tc_strtab *symbols)
{
    struct tc_map modules = TC_MAP_INIT, contents = TC_MAP_INIT;
    uint64_t n, ignored;
    bool is_new;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct replica *replica = &step->variables.items[i];
        if (replica->is_own)
            tc_map_put(&modules, module_of(symbols, replica), 1);
        if (!replica->variable.is_setting && replica->variable.has_first && !replica->is_part)
            ++*tc_map_at(&contents, replica->first_data, &is_new);
    }
    for (size_t i = 0; modules.n && i < step->variables.n; i++) {
        struct replica *replica = &step->variables.items[i];
        replica->is_own |= is_trained(replica) && replica->data_differs &&
                           !replica->first_differs &&
                           tc_map_get(&contents, replica->first_data, &n) && n > 1 &&
                           tc_map_get(&modules, module_of(symbols, replica), &ignored);
    }
    tc_map_release(&modules);
    tc_map_release(&contents);
}

/* Where nothing that trains began alike, nobody has seen to it that anything does. */
static void find_own(struct pending_step *step, const struct tc_strtab *symbols)
{
    bool has_replicas = false;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct replica *replica = &step->variables.items[i];
        has_replicas |= is_trained(replica) && is_shared(step, replica) && !replica->first_differs;
    }
    for (size_t i = 0; has_replicas && i < step->variables.n; i++) {
        struct replica *replica = &step->variables.items[i];
        replica->is_own = is_trained(replica) && replica->first_differs && replica->data_differs;
    }
    find_constant_parts(step, symbols);
}

enum replicas {
    NOTHING_TRAINS,
    TOGETHER,
    IN_PART,
    APART
};

/* How do the ranks stand to each other in what trains? A few parameters that differ are no way of
 * one's own. */
static enum replicas replicas_in(const struct pending_step *step)
{
    size_t n = 0, n_differ = 0;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct replica *replica = &step->variables.items[i];
        if (!is_trained(replica) || !is_shared(step, replica))
            continue;
        n++;
        n_differ += replica->data_differs;
    }
    if (!n)
        return NOTHING_TRAINS;
    return !n_differ ? TOGETHER : 2 * n_differ < n ? IN_PART : APART;
}

/* Has each rank all that trains, and the same? */
static bool are_replicas(const struct pending_step *step)
{
    size_t n = 0;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct replica *replica = &step->variables.items[i];
        if (replica->variable.kind != TC_SYM_PARAMETER || !replica->variable.requires_grad)
            continue;
        if (!is_trained(replica) || !is_shared(step, replica) || replica->data_differs)
            return false;
        n++;
    }
    return n > 0;
}

/* Of the batch nothing is said where ranks may be parts of one model, nor while it may be chance
 * that they are given the same. */
static void weigh_batch(struct steps *steps, struct pending_step *step)
{
    uint64_t at;

    if (!tc_map_get(&step->by_name, TC_SYM_BATCH, &at))
        return;
    struct replica *batch = &step->variables.items[at];
    steps->n_alike = tc_in_a_row(steps->n_alike, !batch->data_differs);
    batch->is_untold =
        !are_replicas(step) || (!batch->data_differs && steps->n_alike < TC_THIRD_TIME);
}

/* A step that all ranks have reported, or that nobody waits for any more. */
static void settle(struct replica_state *r, struct steps *steps, size_t at,
                   struct tc_strtab *symbols, const struct tc_event *event,
                   const struct tc_sink *sink)
{
    struct pending_step **items = steps->items.items, *step = items[at];
    enum replicas replicas;

    find_stages(step);
    find_own(step, symbols);
    weigh_batch(steps, step);
    replicas = replicas_in(step);
    if (step->ranks.n < step->world && step->step > steps->given_up)
        steps->given_up = step->step;
    r->held -= bytes_of(step);
    memmove(&items[at], &items[at + 1], (--steps->items.n - at) * sizeof(*items));
    if (replicas == APART && !steps->has_parted && steps->apart.n < MAX_APART &&
        steps->apart.n * bytes_of(step) < MAX_HELD) {
        tc_vec_push(&steps->apart, step);
        return;
    }
    steps->have_met |= replicas == TOGETHER;
    if (replicas != NOTHING_TRAINS)
        tell_apart(r, steps, replicas == TOGETHER, symbols, event, sink);
    tell(r, step, false, symbols, event, sink);
}

static bool is_complete(const struct steps *steps, const struct pending_step *step)
{
    if (step->ranks.n + steps->absent.n < step->world)
        return false;
    if (step->ranks.n == step->world)
        return true;
    for (int64_t rank = 0; rank < step->world; rank++)
        if (!tc_ranks_have(&step->ranks, rank) && !tc_ranks_have(&steps->absent, rank))
            return false;
    return true;
}

static bool is_passed(const struct steps *steps, size_t i, int64_t step)
{
    return i < steps->items.n && steps->items.items[i]->step < step;
}

static void give_up_ranks(struct steps *steps, int64_t step)
{
    for (size_t i = 0; is_passed(steps, i, step); i++) {
        const struct pending_step *pending = steps->items.items[i];
        for (int64_t rank = 0; rank < pending->world; rank++)
            if (!tc_ranks_have(&pending->ranks, rank))
                tc_ranks_add(&steps->absent, rank);
    }
}

static void pass(struct replica_state *r, struct tc_strtab *symbols, const struct tc_event *event,
                 const struct tc_sink *sink)
{
    for (size_t i = 0; i < r->steps.n; i++) {
        struct steps *steps = &r->steps.items[i];
        give_up_ranks(steps, event->step);
        while (is_passed(steps, 0, event->step))
            settle(r, steps, 0, symbols, event, sink);
    }
}

/* The run is over: ranks that are apart stay so, unless it is no longer than it was before. One
 * step more, as the last average is made after the last look. */
static void finish(struct replica_state *r, struct tc_strtab *symbols, const struct tc_event *event,
                   const struct tc_sink *sink)
{
    for (size_t i = 0; i < r->steps.n; i++) {
        struct steps *steps = &r->steps.items[i];
        bool would_meet = steps->have_met && steps->apart.n <= steps->longest + 1;
        tell_apart(r, steps, would_meet, symbols, event, sink);
    }
}

/* What has waited longest gives way: the oldest step of the oldest generation that has one. */
static void make_room(struct replica_state *r, struct tc_strtab *symbols,
                      const struct tc_event *event, const struct tc_sink *sink)
{
    size_t i = 0;

    while (r->held > MAX_HELD) {
        while (!r->steps.items[i].items.n)
            i++;
        settle(r, &r->steps.items[i], 0, symbols, event, sink);
    }
}

static bool is_replica(const struct tc_event *event)
{
    const struct tc_process *process = event->process;

    return tc_is_step_window(event) && process->world > 1 && process->world <= MAX_RANKS &&
           process->rank >= 0 && process->rank < process->world;
}

static void replica_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                            const struct tc_sink *sink)
{
    struct replica_state *r = state;
    size_t at;

    if (event->kind == TC_EVENT_PASS || event->kind == TC_EVENT_FINISH) {
        pass(r, symbols, event, sink);
        if (event->kind == TC_EVENT_FINISH)
            finish(r, symbols, event, sink);
        return;
    }
    if (event->kind == TC_EVENT_CALL && event->call->role == TC_ROLE_UNEVEN)
        tc_map_put(&r->uneven, (uintptr_t)event->process, 1);
    if (event->kind == TC_EVENT_CALL && !event->process->is_worker && event->process->world > 1) {
        if (tc_is_training_forward(event->call))
            on_forward(r, event);
        else if (event->call->role == TC_ROLE_LIBRARY)
            on_sampler(r, event);
    }
    if (!is_replica(event))
        return;
    struct steps *steps = steps_of(r, event->process);
    tc_ranks_remove(&steps->absent, event->process->rank);
    if (event->window->step <= steps->given_up)
        return;
    struct pending_step *step = step_at(r, steps, event->window->step, &at);
    if (tc_ranks_have(&step->ranks, event->process->rank))
        return;
    report(r, step, symbols, event, sink);
    if (is_complete(steps, step))
        settle(r, steps, at, symbols, event, sink);
    make_room(r, symbols, event, sink);
}

/* ---- words --------------------------------------------------------------------------------- */

#define RANKS_NAMED 8

static void explain_missing(const struct pending_step *step, struct tc_strbuf *out)
{
    int64_t n = 0;

    if (step->ranks.n == step->world)
        return;
    tc_strbuf_adds(out, "; no report of rank");
    for (int64_t rank = 0; rank < step->world; rank++) {
        if (tc_ranks_have(&step->ranks, rank) || n++ >= RANKS_NAMED)
            continue;
        tc_strbuf_addf(out, "%s %lld", n > 1 ? "," : "", (long long)rank);
    }
    if (n > RANKS_NAMED)
        tc_strbuf_addf(out, " and %lld more", (long long)(n - RANKS_NAMED));
}

static void replica_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                            const struct tc_event *event, const struct tc_example *example,
                            struct tc_strbuf *out)
{
    const struct detail *detail = example->detail;
    const struct content *contents = detail->replica->contents;

    (void)event;
    if (example->variable->is_setting)
        tc_strbuf_addf(out, "%s of %s differs between ranks",
                       tc_strtab_text(symbols, detail->replica->attr),
                       tc_strtab_text(symbols, example->variable->name));
    else
        tc_strbuf_addf(out, "%s of %s differs between ranks: the replica has diverged",
                       tc_strtab_text(symbols, invariant->params[0].attr),
                       tc_strtab_text(symbols, example->variable->name));
    tc_strbuf_addf(out, " (%lld ranks", (long long)detail->step->world);
    if (detail->replica->n_contents == 2)
        tc_strbuf_addf(out, ", rank %lld is not as rank %lld", (long long)contents[1].rank,
                       (long long)contents[0].rank);
    explain_missing(detail->step, out);
    tc_strbuf_adds(out, ")");
}

const struct tc_source tc_source_replica = {
    .name = "replica",
    .judged = "the end of a step window, once all ranks have reported",
    .is_set = true,
    .state_size = sizeof(struct replica_state),
    .release = replica_release,
    .observe = replica_observe,
    .held = replica_held,
};

#define SAME "%a of each %k is the same on all ranks after every step"

static const struct tc_claim claims[] = {
    TC_CONSISTENT_CLAIM(TC_SYM_DATA, TC_SUPPORT_LAW, SAME, NULL),
    TC_CONSISTENT_CLAIM(TC_SYM_DTYPE, TC_SUPPORT_LAW, SAME, NULL),
    TC_CONSISTENT_CLAIM(TC_SYM_SHAPE, TC_SUPPORT_LAW, SAME, NULL),
    TC_CONSISTENT_CLAIM(TC_SYM_SETTINGS, TC_SUPPORT_LAW,
                        "%a of each %k are the same on all ranks in every step", NULL),
    TC_CONSISTENT_CLAIM(TC_SYM_SEED, TC_SUPPORT_LAW,
                        "%a of each %k that parts data among all ranks is the same on them", NULL),
    {
             .key = {TC_SYM_BATCH},
             .kind = TC_SYM_BATCH,
             .of = TC_PARAM_VARIABLE,
             .attr = TC_SYM_DATA,
             .to = TC_SYM_DIFFERS,
             .held = {TC_SYM_DATA, TC_SYM_DIFFERS},
             .broken = {TC_SYM_DATA, TC_SYM_EQUAL},
             .if_met = true,
             .support = TC_SUPPORT_USAGE,
             .expected = "ranks that have the same weights are given batches of their own",
             .seen = "all ranks were given the same batch, in a third step in a row",
             },
};

const struct tc_relation tc_consistent_replica = {
    .name = "Consistent/replica",
    .summary = "the same variable is equal on all ranks after every step",
    .hint = "Are gradients averaged over the ranks in every step, or is something done to this "
            "variable on one rank alone?",
    .source = &tc_source_replica,
    .excused_by = 1u << TC_ROLE_UNEVEN,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
    .explain = replica_explain,
};
