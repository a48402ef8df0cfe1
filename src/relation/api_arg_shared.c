/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_shared.c - APIArg/shared: a loss that all ranks share is averaged once
 *
 * DistributedDataParallel averages the gradients of all ranks. A sum of losses that is divided by a
 * count of all ranks is averaged by that already: it is multiplied by the number of ranks, or each
 * step is so many times too small.
 *
 * By values: the count is a number that a collective has added up, of which each rank tells its
 * own part; the loss was divided by it, and what else it was multiplied or divided by is followed
 * by values, too. An example for each step whose ranks have all told of such a loss, under a model
 * that averages gradients. It holds where each rank multiplied it by their number, and is broken
 * from the third in a row on in which none did.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include <math.h>

#include "replay/symbols.h"

#define MAX_NUMBERS 4096
#define ROUNDED     0.02 /* elements are recorded with three digits */

/* A number of one element that takes a gradient. */
struct share {
    double factor;       /* by what it was multiplied, but for the count */
    double count;        /* by which it was divided; 0: none */
    double own;          /* the part of it that is this rank's */
    struct tc_spot spot; /* where it was divided by the count */
};

/* Of one process. */
struct sharing {
    struct tc_map shares; /* serial → struct share * */
    struct tc_map parts;  /* serial of what was added up → struct parts * */
    struct share loss;    /* of the last backward since the last step; count 0: none */
    bool is_averaged;     /* the last root forward was of a model that averages gradients */
};

#define MAX_PARTS 8

/* What a rank gave to a collective, element by element. */
struct parts {
    size_t n;
    double items[MAX_PARTS];
};

/* The losses of all ranks in one step. */
struct step_of_ranks {
    struct tc_told_step told;
    uint64_t n_plain, n_times; /* ranks that multiplied by nothing, and by their number */
    double own, count;         /* the sum of their parts */
};

struct shared_state {
    struct tc_process_states processes; /* struct sharing */
    struct tc_map steps;                /* (restart, step) → struct step_of_ranks * */
    uint64_t n_plain;                   /* steps in a row */
};

static void shared_release(void *state)
{
    tc_map_release_structs(&((struct shared_state *)state)->steps);
}

static void sharing_release(void *of_process)
{
    struct sharing *sharing = of_process;

    tc_map_release_structs(&sharing->shares);
    tc_map_release_structs(&sharing->parts);
}

/* What this rank gives, before it is added up. */
static void on_collective(struct sharing *sharing, const struct tc_call *call)
{
    const struct tc_value *tensor = tc_value_get(call->args, "tensor"),
                          *elements = tc_value_get(tensor, "elements");
    struct parts *parts;
    double number;

    if (!tensor || tc_count_elements(tc_value_get(tensor, "shape")) > MAX_PARTS)
        return;
    if (sharing->parts.n >= MAX_NUMBERS)
        tc_map_release_structs(&sharing->parts);
    parts = tc_map_struct(&sharing->parts, (uint64_t)tc_serial_of(tensor), sizeof(*parts));
    *parts = (struct parts){0};
    if (tc_value_number(tc_value_get(tensor, "value"), &number))
        parts->items[parts->n++] = number;
    for (uint32_t i = 0; elements && elements->kind == TC_VALUE_ARRAY && i < elements->n; i++)
        if (tc_value_number(&elements->items[i], &number) && parts->n < MAX_PARTS)
            parts->items[parts->n++] = number;
}

/* An element of what was added up, by its number. */
static void on_element(struct sharing *sharing, const struct tc_call *call)
{
    const struct parts *parts = tc_map_find(&sharing->parts, (uint64_t)tc_serial_of(call->self));
    const int64_t i = tc_value_int(tc_value_get(call->args, "index"), -1);
    double own;

    if (!parts || i < 0 || (size_t)i >= parts->n || !tc_value_get(call->end->value, "value"))
        return;
    own = parts->items[i]; /* the map may move what it holds */
    *(struct parts *)tc_map_struct(&sharing->parts, (uint64_t)tc_serial_of(call->end->value),
                                   sizeof(struct parts)) = (struct parts){1, {own}};
}

static struct share share_of(const struct sharing *sharing, const struct tc_value *tensor)
{
    const struct share *known = tc_map_find(&sharing->shares, (uint64_t)tc_serial_of(tensor));

    return known ? *known : (struct share){.factor = 1};
}

/* A loss is divided or multiplied by a number. */
static void on_number(struct sharing *sharing, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *value = call->end->value, *from = tc_first_tensor(call),
                          *other = tc_value_get(call->args, "other");
    struct share share = share_of(sharing, from);
    const struct parts *parts;
    double a, b, by;

    if (!tc_is_loss_value(value) || !tc_value_number(tc_value_get(from, "value"), &a) ||
        !tc_value_number(tc_value_get(value, "value"), &b) || !tc_plain_number(other, &by) ||
        by <= 0 || a == 0)
        return;
    parts = tc_map_find(&sharing->parts, (uint64_t)tc_serial_of(other));
    if (tc_is_near(a / by, b) && parts && parts->n == 1 && !share.count) {
        share.count = by;
        share.own = parts->items[0];
        share.spot = tc_spot_of(event);
    } else if (tc_is_near(a / by, b)) {
        share.factor /= by;
    } else if (tc_is_near(a * by, b)) {
        share.factor *= by;
    } else if (share.count) { /* something is added to it */
        share.factor = 0;
    }
    if (sharing->shares.n >= MAX_NUMBERS)
        tc_map_release_structs(&sharing->shares);
    *(struct share *)tc_map_struct(&sharing->shares, (uint64_t)tc_serial_of(value), sizeof(share)) =
        share;
}

static void judge_ranks(const struct tc_hearing *h, struct shared_state *state,
                        const struct step_of_ranks *step)
{
    const bool is_sum = fabs(step->own - step->count) <= ROUNDED * step->count,
               is_plain = is_sum && step->n_plain == step->told.n,
               is_right = is_sum && step->n_times == step->told.n;

    state->n_plain = tc_in_a_row(state->n_plain, is_plain);
    if (is_right || (is_plain && state->n_plain >= TC_THIRD_TIME))
        tc_answer_of(h, is_right, (struct tc_example){.place = &step->told.place});
}

/* A step waits until all ranks have told of it. */
static void on_step(const struct tc_hearing *h, struct sharing *sharing)
{
    const struct tc_process *process = h->event->process;
    const struct share loss = sharing->loss;
    struct shared_state *state = h->state;
    struct step_of_ranks *step;

    sharing->loss.count = 0;
    if (!loss.count || process->world < 2 || process->rank < 0)
        return;
    step = tc_tell_step(&state->steps, sizeof(*step), h->event, &loss.spot);
    step->n_plain += tc_is_near(loss.factor, 1);
    step->n_times += tc_is_near(loss.factor, (double)process->world);
    step->own += loss.own;
    step->count = loss.count;
    if (step->told.n == (uint64_t)process->world)
        judge_ranks(h, state, step);
}

static void shared_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct sharing *sharing = tc_hearing_state(h);

    if (call->is_root)
        sharing->is_averaged = tc_value_is_true(
            tc_value_get(tc_value_get(call->self, "attrs"), "require_backward_grad_sync"));
    else if (call->role == TC_ROLE_COLLECTIVE)
        on_collective(sharing, call);
    else if (call->role == TC_ROLE_BACKWARD && sharing->is_averaged)
        sharing->loss = share_of(sharing, call->self);
    else if (call->role == TC_ROLE_STEP)
        on_step(h, sharing);
    else if (tc_value_get(call->args, "index"))
        on_element(sharing, call);
    else
        on_number(sharing, h->event);
}

const struct tc_relation_rule tc_rule_shared = {
    TC_RULE(tc_rule_shared),
    .form.name = "APIArg/shared",
    .form.summary = "a loss that all ranks share is averaged once",
    .form.hint = "Is the loss multiplied by the number of ranks, as the gradients are averaged?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "shared",
    .source.judged = "an optimizer step of all ranks, whose losses were divided by a count of all",
    .source.looks_closely = true,
    .source.state_size = sizeof(struct shared_state),
    .source.release = shared_release,
    .source.process_size = sizeof(struct sharing),
    .source.release_process = sharing_release,
    TC_CLAIM_ROLES(TC_ROLE_COLLECTIVE, TC_ROLE_BACKWARD, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_SCALED),
    TC_CLAIM_ATOMS(TC_SYM_SCALED, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected =
        "a loss that is divided by a count of all ranks is multiplied by their number "
        "where gradients are averaged",
    .claim.seen = "each loss was divided by a count of all ranks, and gradients are averaged as "
                  "well, in a third step in a row%p",
    .at = TC_AT_ROOT | TC_AT(COLLECTIVE) | TC_AT(BACKWARD) | TC_AT(STEP) | TC_AT(OPERATOR) |
          TC_AT(FUNCTION),
    .judge = shared_judge,
};
