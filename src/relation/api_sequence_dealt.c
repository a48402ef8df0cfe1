/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_dealt.c - APISequence/dealt: ranks that share the rows of a pass have rows of their
 * own
 *
 * A sampler gives each rank its part of one permutation. Where ranks draw permutations of their
 * own, as each has another seed, or all take the same part, some rows come twice in a pass and
 * others never: nothing fails.
 *
 * By rows: those of each batch that a loader returned and a model was given for training. A pass
 * ends with the iterator. An example at the end of the run for passes that all ranks have ended,
 * two or more, of equal length, in none of which a rank had a row twice, and which together are as
 * long as there are rows in all of them. It holds where no row was given to two ranks of one pass,
 * but for some that fill up; it is broken where in each pass one in twenty was, or more. Ranks that
 * each go through all rows, or work at the same ones, have passes that are too long for that.
 */
#include "relation/batch_rows.h"
#include "relation/claims.h"

#include "replay/symbols.h"

#define MAX_PASSES 8
#define MIN_PASSES 2
#define MIN_ROWS   16
#define FEW        50 /* one row of so many fills up a pass */
#define MANY       20 /* one of so many came twice */

/* Of one process. */
struct dealing {
    const struct tc_process *process;
    struct tc_map batches;            /* that no model was given yet: batch_rows.h */
    struct tc_map passes[MAX_PASSES]; /* the rows of each */
    size_t n_over, n_rows;
    int64_t iterator;      /* of the pass that is not over; 0: none is */
    bool is_off;           /* a row came twice, or they are too many */
    struct tc_place place; /* of the first batch */
    struct tc_spot made;   /* where what deals them out was made last; else the loader */
    int makes;             /* 2, 1; 0: neither was */
};

static void dealing_release(void *of_process)
{
    struct dealing *dealing = of_process;

    tc_map_release_structs(&dealing->batches);
    for (size_t i = 0; i < MAX_PASSES; i++)
        tc_map_release(&dealing->passes[i]);
}

/* ---- looking -------------------------------------------------------------------------------- */

/* A model is given a batch for training. */
static void on_forward(struct dealing *dealing, const struct tc_event *event)
{
    struct tc_batch_rows *batch = tc_batch_rows_take(&dealing->batches, event->call);
    bool is_new;

    if (!batch)
        return;
    dealing->is_off |= dealing->iterator && dealing->iterator != batch->iterator;
    dealing->iterator = batch->iterator;
    for (size_t i = 0; i < batch->n && !dealing->is_off; i++) {
        tc_map_at(&dealing->passes[dealing->n_over], batch->rows[i], &is_new);
        dealing->is_off |= !is_new || ++dealing->n_rows > TC_MAX_ROWS;
    }
    if (!dealing->place.file)
        tc_place_of(event, &dealing->place);
    tc_free(batch);
}

/* A sampler that knows of ranks is made, or a loader, before the first batch. */
static void on_made(struct dealing *dealing, const struct tc_event *event)
{
    const struct tc_value *args = event->call->args;
    const int makes = tc_value_get(args, "num_replicas") ? 2
                      : tc_value_get(args, "sampler")    ? 1
                                                         : 0;

    if (!makes || makes < dealing->makes || dealing->place.file)
        return;
    dealing->makes = makes;
    dealing->made = tc_spot_of(event);
}

static void dealt_look(struct dealing *dealing, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    if (call->role == TC_ROLE_MAKE)
        on_made(dealing, event);
    if (dealing->is_off || dealing->n_over == MAX_PASSES)
        return;
    if (call->role == TC_ROLE_DATA) {
        const int64_t iterator = tc_serial_of(call->self);
        if (!call->raised) {
            tc_batch_rows_note(&dealing->batches, call->end->value, iterator);
        } else if (iterator == dealing->iterator) {
            dealing->n_over++;
            dealing->iterator = 0;
        }
    } else if (!call->raised && tc_is_training_forward(call)) {
        on_forward(dealing, event);
    }
}

/* ---- judging -------------------------------------------------------------------------------- */

/* The ranks that began together with this one. */
struct ranks_of_pass {
    const struct tc_process_states *states;
    const struct dealing *first;
    size_t n, n_passes;
};

static const struct dealing *next_rank(const struct ranks_of_pass *ranks, size_t *pos)
{
    const struct dealing *dealing;

    while ((dealing = tc_map_next(&ranks->states->items, pos)))
        if (dealing->process && dealing->process->restart == ranks->first->process->restart)
            return dealing;
    return NULL;
}

static bool is_as_long(size_t n, size_t as)
{
    return n + as / FEW + 1 >= as && n <= as + as / FEW + 1;
}

/* Have all of them passes of one length, in none of which a row came twice? */
static bool are_comparable(struct ranks_of_pass *ranks)
{
    const size_t length = ranks->first->passes[0].n;
    const struct dealing *dealing;

    ranks->n_passes = MAX_PASSES;
    for (size_t pos = 0; (dealing = next_rank(ranks, &pos)); ranks->n++) {
        if (dealing->is_off)
            return false;
        ranks->n_passes = dealing->n_over < ranks->n_passes ? dealing->n_over : ranks->n_passes;
        for (size_t i = 0; i < dealing->n_over; i++)
            if (!is_as_long(dealing->passes[i].n, length))
                return false;
    }
    return (int64_t)ranks->n == ranks->first->process->world && ranks->n_passes >= MIN_PASSES &&
           length >= MIN_ROWS;
}

/* Adds the rows of a pass of all ranks; returns how many came again. */
static size_t add_pass(const struct ranks_of_pass *ranks, size_t pass, struct tc_map *rows)
{
    const struct dealing *dealing;
    uint64_t row, ignored;
    size_t n_again = 0;
    bool is_new;

    for (size_t pos = 0; (dealing = next_rank(ranks, &pos));)
        for (size_t at = 0; tc_map_each(&dealing->passes[pass], &at, &row, &ignored);) {
            tc_map_at(rows, row, &is_new);
            n_again += !is_new;
        }
    return n_again;
}

/* How many rows came twice: none, and for some that fill up (1), many in each pass (2)? 0: it is
 * neither, or the passes of all ranks are not those of one whole. */
static int kind_of(const struct ranks_of_pass *ranks)
{
    const size_t length = ranks->first->passes[0].n;
    struct tc_map all = {0};
    bool is_few = true, is_many = true;

    for (size_t i = 0; i < ranks->n_passes; i++) {
        struct tc_map rows = {0};
        const size_t n_again = add_pass(ranks, i, &rows);
        is_few &= n_again <= length / FEW + ranks->n;
        is_many &= n_again * MANY >= length;
        tc_map_release(&rows);
        add_pass(ranks, i, &all);
    }
    const size_t whole = ranks->n * length, n_all = all.n;
    tc_map_release(&all);
    if (whole * 100 > n_all * 115 || whole * 115 < n_all * 100)
        return 0;
    return is_few ? 1 : is_many ? 2 : 0;
}

static void judge(const struct tc_process_states *states, const struct tc_event *event,
                  const struct tc_sink *sink)
{
    const struct dealing *dealing;
    int kind;

    for (size_t pos = 0; (dealing = tc_map_next(&states->items, &pos));) {
        struct ranks_of_pass ranks = {.states = states, .first = dealing};
        if (!dealing->process || dealing->process->rank != 0 || dealing->process->world < 2 ||
            !are_comparable(&ranks) || !(kind = kind_of(&ranks)))
            continue;
        const tc_sym outcome = kind == 1 ? TC_SYM_TRUE : TC_SYM_FALSE;
        struct tc_place place = dealing->place;
        if (dealing->makes)
            tc_place_move(&place, &dealing->made);
        const struct tc_example example = {.key = TC_SYM_BATCH,
                                           .situation = &tc_no_situation,
                                           .outcome = &outcome,
                                           .n_outcome = 1,
                                           .place = &place};
        sink->example(sink->context, event, &example);
    }
}

static void dealt_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    struct dealing *dealing;

    (void)symbols;
    if (event->kind == TC_EVENT_FINISH)
        judge(state, event, sink);
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || event->process->rank < 0)
        return;
    dealing = tc_process_state(state, event->process);
    dealing->process = event->process;
    dealt_look(dealing, event);
}

const struct tc_source tc_source_dealt = {.name = "dealt",
                                          .judged = "the end of the run, where ranks have ended "
                                                    "passes over rows",
                                          .is_set = true,
                                          .looks_closely = true,
                                          .process_size = sizeof(struct dealing),
                                          .release_process = dealing_release,
                                          .observe = dealt_observe};

static const struct tc_claim claims[] = {
    {.key = {TC_SYM_BATCH},
     .roles = {TC_ROLE_FORWARD, TC_ROLE_DATA},
     .n_roles = 2,
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_VALUE,
     .attr = TC_SYM_IS,
     .to = TC_SYM_APART_VALUE,
     .held = {TC_SYM_TRUE},
     .broken = {TC_SYM_FALSE},
     .if_met = true,
     .support = TC_SUPPORT_RULE,
     .expected = "ranks that share the rows of a pass are each given rows of their own",
     .seen = "the ranks share the rows, and in each pass some came to two of them and others to "
             "none: their orders are not those of one seed%p"},
};

const struct tc_relation tc_api_sequence_dealt = {
    .name = "APISequence/dealt",
    .summary = "ranks that share the rows of a pass have rows of their own",
    .hint = "Do all ranks draw one permutation, by the same seed, and take different parts of it?",
    .needs_content = true,
    .needs_operators = true,
    .source = &tc_source_dealt,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
