/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_averaged.c - Consistent/averaged: a target takes the average that is made for it
 *
 * A target follows the weights that are trained: each weight becomes an average of itself and of
 * the trained one. Where the average is given to the trained weight in its place, to a name that
 * nobody reads, or to the last weight alone, the target that answers stays as it was. So it does
 * not where the two shares are exchanged, but then it is no average over time any more.
 *
 * By values: an average is a sum of a trained weight and of one that no step trains, each times a
 * number, which add up to one; or what a function makes of these two and of one number. An example
 * at the end of the run for each process that has made ten averages of one pair of matrices, and
 * has asked the target ten times: without gradients, or as a part of the model that is trained. It
 * is broken where the target never changed, and where each of the last ten averages had less than
 * half of the target in it. Nothing is said of averages that a call reads, but to copy them.
 */
#include "relation/consistent.h"
#include "relation/third_time.h"

#include <math.h>

#include "replay/symbols.h"

#define MAX_KNOWN 4096

/* A weight times a number, or an average if there is another one. */
struct part {
    int64_t of, other;  /* serials of variables */
    double share, rest; /* what they were multiplied by */
};

/* A trained matrix and one that no step trains. */
struct pair {
    int64_t target, trained;
    uint64_t data;       /* what the target held at the first average */
    uint64_t n, n_small; /* averages; those in a row with less than half of the target */
    bool is_read;        /* an average was computed with */
    struct tc_place place;
};

/* Of one process. */
struct averaging {
    const struct tc_process *process;
    struct tc_map parts; /* serial → struct part * */
    struct tc_map pairs; /* serial of the target's → struct pair * */
    struct tc_map roots; /* serial → forwards without gradients, or with parts of both kinds */
};

static void averaging_release(void *of_process)
{
    struct averaging *averaging = of_process;

    tc_map_release_structs(&averaging->parts);
    tc_map_release_structs(&averaging->pairs);
    tc_map_release(&averaging->roots);
}

/* ---- looking -------------------------------------------------------------------------------- */

static const struct tc_variable *matrix_of(const struct tc_process *process, int64_t serial)
{
    const struct tc_variable *v = tc_process_variable(process, serial);

    return v && v->kind == TC_SYM_PARAMETER && v->is_matrix && v->root != TC_NONE ? v : NULL;
}

/* What is known of an operand: a weight as it is, or a part. */
static bool part_of(const struct averaging *averaging, const struct tc_value *tensor,
                    struct part *part)
{
    const struct part *known = tc_map_find(&averaging->parts, (uint64_t)tc_serial_of(tensor));

    if (known)
        *part = *known;
    else if (matrix_of(averaging->process, tc_serial_of(tensor)))
        *part = (struct part){.of = tc_serial_of(tensor), .other = TC_NONE, .share = 1};
    else
        return false;
    return true;
}

static void keep(struct averaging *averaging, const struct tc_value *value, struct part part)
{
    if (averaging->parts.n >= MAX_KNOWN)
        tc_map_release_structs(&averaging->parts);
    *(struct part *)tc_map_struct(&averaging->parts, (uint64_t)tc_serial_of(value), sizeof(part)) =
        part;
}

static bool is_a_share(double number)
{
    return number > 0 && number < 1;
}

/* An average of a target and of a trained weight was made, and given to the target or not. */
static void on_average(struct averaging *averaging, const struct tc_event *event, struct part part)
{
    const struct tc_variable *a = matrix_of(averaging->process, part.of),
                             *b = matrix_of(averaging->process, part.other);
    const struct tc_variable *target = a && a->stepped < 0 ? a : b;
    struct pair *pair;

    if (!a || !b || (a->stepped < 0) == (b->stepped < 0) ||
        (a->root == b->root && target->requires_grad))
        return;
    keep(averaging, event->call->end->value, part);
    pair = tc_map_struct(&averaging->pairs, (uint64_t)target->serial, sizeof(*pair));
    if (!pair->n++) {
        tc_place_of(event, &pair->place);
        pair->data = target->data;
    }
    pair->target = target->serial;
    pair->trained = target == a ? b->serial : a->serial;
    pair->n_small = (target == a ? part.share : part.rest) < 0.5 ? pair->n_small + 1 : 0;
}

/* a * x, or a * x + b * y of two such, or between(a, b, y). */
static void on_call(struct averaging *averaging, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *value = call->end->value, *first = tc_first_tensor(call),
                          *other = tc_value_get(call->args, "other"),
                          *end = tc_value_get(call->args, "end"),
                          *alpha = tc_value_get(call->args, "alpha");
    struct part a, b;
    double number, times = 1;

    if (tc_requires_gradient(value) || !part_of(averaging, first, &a) || a.other != TC_NONE)
        return;
    tc_value_number(alpha, &times);
    if (tc_value_number(other, &number)) {
        if (is_a_share(number) && a.share == 1)
            keep(averaging, value, (struct part){a.of, TC_NONE, number, 0});
        return;
    }
    if (end && part_of(averaging, end, &b) && b.other == TC_NONE && b.share == 1 &&
        tc_value_number(tc_value_get(call->args, "weight"), &number) && is_a_share(number)) {
        a.share = 1 - number;
        b.share = number;
    } else if (!other || !part_of(averaging, other, &b) || b.other != TC_NONE) {
        return;
    } else {
        b.share *= times;
    }
    if (fabs(a.share + b.share - 1) < 1e-6 && is_a_share(a.share))
        on_average(averaging, event, (struct part){a.of, b.of, a.share, b.share});
}

/* Something is computed of an average. */
static void note_read(struct averaging *averaging, const struct tc_value *tensor)
{
    const struct part *part = tc_map_find(&averaging->parts, (uint64_t)tc_serial_of(tensor));
    struct pair *pair;

    if (!part || part->other == TC_NONE)
        return;
    for (size_t i = 0; i < 2; i++)
        if ((pair = tc_map_find(&averaging->pairs, (uint64_t)(i ? part->of : part->other))))
            pair->is_read = true;
}

static void note_reads(struct averaging *averaging, const struct tc_call *call)
{
    const struct tc_value *operand;

    note_read(averaging, call->self);
    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        note_read(averaging, operand);
}

static void on_forward(struct averaging *averaging, const struct tc_call *call)
{
    bool is_new;

    if (tc_value_get(call->ctx, "grad") || tc_is_training_forward(call))
        ++*tc_map_at(&averaging->roots, (uint64_t)tc_serial_of(call->self), &is_new);
}

/* ---- judging -------------------------------------------------------------------------------- */

static void judge(const struct averaging *averaging, const struct tc_event *event,
                  const struct tc_sink *sink)
{
    const struct pair *pair, *met = NULL, *broken = NULL;

    for (size_t pos = 0; (pair = tc_map_next(&averaging->pairs, &pos));) {
        const struct tc_variable *target = tc_process_variable(averaging->process, pair->target);
        uint64_t n = 0;
        if (!target || target->stepped >= 0 || pair->n < TC_TENTH_TIME || pair->is_read ||
            !tc_map_get(&averaging->roots, (uint64_t)target->root, &n) || n < TC_TENTH_TIME)
            continue;
        met = pair;
        if ((target->has_data && target->data == pair->data) || pair->n_small >= TC_TENTH_TIME)
            broken = pair;
    }
    if (!met)
        return;
    const tc_sym outcome = broken ? TC_SYM_UNCHANGED : TC_SYM_CHANGED;
    const struct pair *told = broken ? broken : met;
    const struct tc_example example = {.key = TC_SYM_DATA,
                                       .situation = &tc_no_situation,
                                       .outcome = &outcome,
                                       .n_outcome = 1,
                                       .variable =
                                           tc_process_variable(averaging->process, told->target),
                                       .place = &told->place};
    sink->example(sink->context, event, &example);
}

static void averaged_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                             const struct tc_sink *sink)
{
    struct tc_process_states *states = state;
    struct averaging *averaging;

    (void)symbols;
    if (event->kind == TC_EVENT_FINISH)
        for (size_t pos = 0; (averaging = tc_map_next(&states->items, &pos));)
            judge(averaging, event, sink);
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || event->call->raised)
        return;
    averaging = tc_process_state(state, event->process);
    averaging->process = event->process;
    if (event->call->role != TC_ROLE_FILL)
        note_reads(averaging, event->call);
    if (event->call->is_root)
        on_forward(averaging, event->call);
    else if (event->call->role == TC_ROLE_OPERATOR || event->call->role == TC_ROLE_FUNCTION)
        on_call(averaging, event);
}

const struct tc_source tc_source_averaged = {
    .name = "averaged",
    .judged = "the end of the run, where lines make averages of weights",
    .is_set = true,
    .looks_closely = true,
    .process_size = sizeof(struct averaging),
    .release_process = averaging_release,
    .observe = averaged_observe};

static const struct tc_claim claims[] = {
    {.key = {TC_SYM_DATA},
     .kind = TC_SYM_PARAMETER,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_DATA,
     .to = TC_SYM_OWNED,
     .held = {TC_SYM_CHANGED},
     .broken = {TC_SYM_UNCHANGED},
     .if_met = true,
     .support = TC_SUPPORT_RULE,
     .expected = "a target that answers takes the averages that are made for it, and is half of "
                 "each or more", .seen = "averages of %v and of the weight that is trained were made, and %v never changed, or "
             "kept less than half of itself each time%p"},
};

const struct tc_relation tc_consistent_averaged = {
    .name = "Consistent/averaged",
    .summary = "a target takes the average that is made for it",
    .hint = "Are target and source exchanged, or is the average given to a name alone?",
    .needs_operators = true,
    .source = &tc_source_averaged,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
