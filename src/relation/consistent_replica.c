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
 * Ranks may go their own ways on purpose and meet again, as in local SGD: steps from one on in
 * which most of what trains differs are kept back, and of what trains nothing is said in them once
 * all of it is equal again. Nor at the end, if they were apart for no more than one step longer
 * than before: what joins the ranks in the last step may follow the last look, or a part of it.
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

#include "relation/generations.h"
#include "relation/replica_parts.h"
#include "relation/third_time.h"
#include "replay/symbols.h"

/* Bytes of steps that may wait. Files are read by step, so that ranks which have a file are never
 * so far apart. */
#define MAX_HELD ((size_t)32 << 20)

/* So many steps may ranks go their own ways before they meet again. */
#define MAX_APART 64

/* Ranks of a world above this are not followed one by one. */
#define MAX_RANKS 65536

/* The steps of one generation of processes. */
struct steps {
    TC_VEC(struct tc_replica_step *) items; /* by step */
    TC_VEC(struct tc_replica_step *) apart; /* settled, kept until the ranks meet again */
    uint64_t n_alike;                       /* with one batch for all ranks, in a row */
    size_t longest;  /* so many steps in a row were they apart, at most, before they met again */
    bool has_parted; /* they did not: later steps are reported at once */
    bool have_met;   /* in some step they were the same */
    struct tc_ranks absent; /* not waited for until they report again */
    int64_t given_up;       /* the last step that was judged without some ranks */
};

struct replica_state {
    struct tc_generations generations;
    TC_VEC(struct steps) steps; /* by generation */
    struct tc_replica_reports reports;
    size_t held;
};

static size_t bytes_of(const struct tc_replica_step *step)
{
    return sizeof(*step) +
           step->variables.n * (sizeof(struct tc_replica) + sizeof(struct tc_map_slot));
}

static void replica_release(void *state)
{
    struct replica_state *r = state;

    for (size_t i = 0; i < r->steps.n; i++) {
        struct steps *steps = &r->steps.items[i];
        for (size_t k = 0; k < steps->items.n; k++)
            tc_replica_step_free(steps->items.items[k]);
        for (size_t k = 0; k < steps->apart.n; k++)
            tc_replica_step_free(steps->apart.items[k]);
        tc_vec_release(&steps->items);
        tc_vec_release(&steps->apart);
        tc_ranks_release(&steps->absent);
    }
    tc_vec_release(&r->steps);
    tc_generations_release(&r->generations);
    tc_replica_reports_release(&r->reports);
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

static struct tc_replica_step *step_at(struct replica_state *r, struct steps *steps, int64_t number,
                                       size_t *at)
{
    struct tc_replica_step *step, **items;
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

    if (!r->reports.situations)
        r->reports.situations = tc_strtab_new();
    while (r->steps.n <= number)
        tc_vec_push(&r->steps, none);
    return &r->steps.items[number];
}

/* ---- verdicts ------------------------------------------------------------------------------ */

/* What explain tells: whose content, and who did not report. */
struct detail {
    const struct tc_replica_step *step;
    const struct tc_replica *replica;
};

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Serials are those of the lowest rank, which need not be the same for two parts. */
static int by_serial(const void *a, const void *b)
{
    const struct tc_replica *x = *(const struct tc_replica *const *)a;
    const struct tc_replica *y = *(const struct tc_replica *const *)b;
    int order = compare(x->variable.serial, y->variable.serial);

    if (!order)
        order = compare((int64_t)x->index, (int64_t)y->index);
    if (!order)
        order = compare(x->is_part, y->is_part);
    return order ? order : compare(x->rank, y->rank);
}

/* The answers; at most three. has_met: ranks that went their own ways on purpose. */
static size_t outcome_of(const struct tc_replica *replica, bool has_met, struct tc_strtab *symbols,
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
        !(has_met && tc_replica_is_trained(replica)))
        out[n++] = tc_consistent_agreement(symbols, TC_SYM_DATA, !replica->data_differs);
    if (replica->is_part) /* the whole has the rest */
        return n;
    out[n++] = tc_consistent_agreement(symbols, TC_SYM_DTYPE, !replica->dtype_differs);
    out[n++] = tc_consistent_agreement(symbols, TC_SYM_SHAPE, !replica->shape_differs);
    tc_sym_sort(out, n);
    return n;
}

/* Why nothing is said of the content. */
static tc_excuses excuses_of(const struct tc_replica *replica, bool has_met)
{
    return (has_met && tc_replica_is_trained(replica) ? TC_EXCUSE_BIT(TC_EXCUSE_LOCAL_SGD) : 0) |
           (replica->is_own ? TC_EXCUSE_BIT(TC_EXCUSE_OWN_PART) : 0) |
           (replica->is_incomparable ? TC_EXCUSE_BIT(TC_EXCUSE_INCOMPARABLE) : 0);
}

static void judge_variable(const struct replica_state *r, const struct tc_replica_step *step,
                           const struct tc_replica *replica, bool has_met,
                           struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    const struct detail detail = {step, replica};
    size_t size = tc_strtab_size(r->reports.situations, replica->situation);
    struct tc_situation situation = {.n = size / sizeof(*situation.pairs)};
    tc_sym outcome[3];

    memcpy(situation.pairs, tc_strtab_text(r->reports.situations, replica->situation), size);
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
static const struct tc_replica *one_of_group(const struct tc_replica **sorted, size_t n, size_t *i)
{
    const struct tc_replica *one = sorted[*i];

    while (*i + 1 < n && sorted[*i + 1]->variable.is_setting &&
           sorted[*i + 1]->variable.serial == one->variable.serial) {
        (*i)++;
        if (!one->data_differs && sorted[*i]->data_differs)
            one = sorted[*i];
    }
    return one;
}

/* Judge what ranks have in common, and forget the step. */
static void tell_step(const struct replica_state *r, struct tc_replica_step *step, bool has_met,
                      struct tc_strtab *symbols, const struct tc_event *event,
                      const struct tc_sink *sink)
{
    const struct tc_replica **sorted = tc_malloc((step->variables.n + 1) * sizeof(*sorted));
    size_t n = 0;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct tc_replica *replica = &step->variables.items[i];
        if (replica->is_untold)
            continue;
        if (!tc_replica_is_shared(step, replica))
            tc_sink_excuse(sink, replica->variable.kind, TC_EXCUSE_NOT_SHARED);
        else if (replica->is_stage)
            tc_sink_excuse(sink, replica->variable.kind, TC_EXCUSE_STAGES);
        else
            sorted[n++] = replica;
    }
    qsort(sorted, n, sizeof(*sorted), by_serial);
    for (size_t i = 0; i < n; i++) {
        const struct tc_replica *replica =
            sorted[i]->variable.is_setting ? one_of_group(sorted, n, &i) : sorted[i];
        judge_variable(r, step, replica, has_met, symbols, event, sink);
    }
    tc_free(sorted);
    tc_replica_step_free(step);
}

static void tell_apart(const struct replica_state *r, struct steps *steps, bool has_met,
                       struct tc_strtab *symbols, const struct tc_event *event,
                       const struct tc_sink *sink)
{
    if (has_met && steps->longest < steps->apart.n)
        steps->longest = steps->apart.n;
    for (size_t i = 0; i < steps->apart.n; i++)
        tell_step(r, steps->apart.items[i], has_met, symbols, event, sink);
    steps->apart.n = 0;
    steps->has_parted = !has_met;
}

/* Of the batch nothing is said where ranks may be parts of one model, nor while it may be chance
 * that they are given the same. */
static void weigh_batch(struct steps *steps, struct tc_replica_step *step)
{
    uint64_t at;

    if (!tc_map_get(&step->by_name, TC_SYM_BATCH, &at))
        return;
    struct tc_replica *batch = &step->variables.items[at];
    steps->n_alike = tc_in_a_row(steps->n_alike, !batch->data_differs);
    batch->is_untold =
        !tc_replicas_are_whole(step) || (!batch->data_differs && steps->n_alike < TC_THIRD_TIME);
}

/* Behind steps apart a part that differs may be what nobody has looked at since they met. */
static bool is_apart(const struct steps *steps, enum tc_replicas replicas)
{
    return replicas == TC_REPLICAS_APART || (replicas == TC_REPLICAS_IN_PART && steps->apart.n);
}

/* A step that all ranks have reported, or that nobody waits for any more. */
static void settle(struct replica_state *r, struct steps *steps, size_t at,
                   struct tc_strtab *symbols, const struct tc_event *event,
                   const struct tc_sink *sink)
{
    struct tc_replica_step **items = steps->items.items, *step = items[at];
    enum tc_replicas replicas;

    tc_replicas_find_parts(step, symbols);
    weigh_batch(steps, step);
    replicas = tc_replicas_in(step);
    if (step->ranks.n < step->world && step->step > steps->given_up)
        steps->given_up = step->step;
    r->held -= bytes_of(step);
    memmove(&items[at], &items[at + 1], (--steps->items.n - at) * sizeof(*items));
    if (is_apart(steps, replicas) && !steps->has_parted && steps->apart.n < MAX_APART &&
        steps->apart.n * bytes_of(step) < MAX_HELD) {
        tc_vec_push(&steps->apart, step);
        return;
    }
    steps->have_met |= replicas == TC_REPLICAS_TOGETHER;
    if (replicas != TC_REPLICAS_UNTRAINED)
        tell_apart(r, steps, replicas == TC_REPLICAS_TOGETHER, symbols, event, sink);
    tell_step(r, step, false, symbols, event, sink);
}

static bool is_complete(const struct steps *steps, const struct tc_replica_step *step)
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
        const struct tc_replica_step *pending = steps->items.items[i];
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
    if (event->kind == TC_EVENT_CALL)
        tc_replica_meet_call(&r->reports, event);
    if (!is_replica(event))
        return;
    struct steps *steps = steps_of(r, event->process);
    tc_ranks_remove(&steps->absent, event->process->rank);
    if (event->window->step <= steps->given_up)
        return;
    struct tc_replica_step *step = step_at(r, steps, event->window->step, &at);
    if (tc_ranks_have(&step->ranks, event->process->rank))
        return;
    r->held -= bytes_of(step);
    tc_replica_report(&r->reports, step, symbols, event, sink);
    r->held += bytes_of(step);
    if (is_complete(steps, step))
        settle(r, steps, at, symbols, event, sink);
    make_room(r, symbols, event, sink);
}

/* ---- words --------------------------------------------------------------------------------- */

#define RANKS_NAMED 8

static void explain_missing(const struct tc_replica_step *step, struct tc_strbuf *out)
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
    const struct tc_replica_content *contents = detail->replica->contents;

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
    if (invariant->params[0].attr == TC_SYM_DATA && tc_replica_is_trained(detail->replica))
        tc_adding_explain(symbols, &detail->step->adding, out);
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
