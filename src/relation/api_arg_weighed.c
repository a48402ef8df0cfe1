/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_weighed.c - APIArg/weighed: labels of one step weigh the same
 *
 * What a step learns from is the sum over all of its labels, divided by their number. A mean of the
 * means of micro-batches, or of ranks, is that only where each of them holds as many labels: where
 * one has thirty times as many, a label of the others weighs thirty times as much.
 *
 * By values: a loss that is a mean over labels which are not ignored was divided by their number,
 * and so was one that the script divides by a whole number; what it is multiplied by counts
 * against that. So does a factor that is one, or the number of ranks, divided by a count. A loss
 * has two numbers: by how much it was divided in all, and by how many labels. An example for each
 * step of two backwards or more of one line, and for each step of all ranks, whose losses were
 * divided by numbers of labels. It is broken from the third in a row on in which both numbers of
 * one loss are twice those of another: weights of the script's own change the first, and its number
 * of labels undoes the second.
 */
#include "relation/one_claim.h"
#include "relation/rows_padded.h"
#include "relation/third_time.h"

#include <math.h>

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_NUMBERS 4096
#define MUCH_MORE   2.0

/* What a number of one element was divided by; 0 is not known. */
struct weight {
    double in_all, labels;
    struct tc_spot spot; /* where it was divided by labels first */
};

static const struct weight unweighed = {.in_all = 1, .labels = 1};

/* The weights of several losses. */
struct spread {
    struct weight least, most;
    uint64_t n;
};

/* Of one process. */
struct losses {
    struct tc_map numbers; /* serial → struct weight * */
    struct tc_map factors; /* serial of a number that was divided by a count → that count */
    struct spread spread;  /* the backwards since the last step */
    uint64_t n_uneven;     /* steps in a row, by their micro-batches */
    tc_sym line;           /* of these backwards */
    bool is_mixed;         /* they stand at several lines */
};

/* The losses of all ranks in one step. */
struct step_of_ranks {
    struct tc_told_step told;
    struct spread spread;
};

struct weighed_state {
    struct tc_process_states processes; /* struct losses */
    struct tc_map steps;                /* (restart, step) → struct step_of_ranks * */
    uint64_t n_uneven;                  /* steps in a row, by their ranks */
};

static void weighed_release(void *state)
{
    tc_map_release_structs(&((struct weighed_state *)state)->steps);
}

static void losses_release(void *of_process)
{
    struct losses *losses = of_process;

    tc_map_release_structs(&losses->numbers);
    tc_map_release(&losses->factors);
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* Labels that the loss does not ignore, if it is a mean over them; else 1. */
static double count_labels(const struct tc_call *call)
{
    const struct tc_value *target = tc_value_get(call->args, "target"),
                          *ignored = tc_value_get(call->args, "ignore_index"),
                          *weight = tc_value_get(call->args, "weight");

    if (!ignored || ignored->kind != TC_VALUE_INT || (weight && weight->kind != TC_VALUE_NULL) ||
        !tc_value_is(tc_value_get(call->args, "reduction"), "mean"))
        return 1;
    const int64_t n_ignored = tc_count_of_number(target, ignored->integer);
    const int64_t n = tc_count_elements(tc_value_get(target, "shape")) - n_ignored;
    return n_ignored < 0 || n < 1 ? 0 : (double)n;
}

static struct weight weight_of(const struct losses *losses, const struct tc_value *tensor)
{
    const struct weight *known = tc_map_find(&losses->numbers, (uint64_t)tc_serial_of(tensor));

    return known ? *known : unweighed;
}

static bool is_count(double number)
{
    return number >= 2 && tc_is_near(round(number), number);
}

/* A line divides a number by a count, as for "loss * (1 / count)". */
static void on_factor(struct losses *losses, const struct tc_call *call)
{
    const struct tc_value *value = call->end->value;
    double number = 1, count, factor;

    tc_value_number(tc_value_get(call->args, "other"), &number);
    if (tc_plain_number(call->self, &count) && is_count(count) && tc_is_tensor(value) &&
        tc_plain_number(value, &factor) && tc_is_near(number / count, factor))
        tc_map_remember(&losses->factors, MAX_NUMBERS, (uint64_t)tc_serial_of(value),
                        (uint64_t)round(count));
}

/* What a line makes of one number and of another that takes no gradient: it divides or multiplies,
 * or it adds, which leaves the weight. */
static struct weight scaled(const struct losses *losses, const struct tc_value *from,
                            const struct tc_value *other, const struct tc_value *to)
{
    struct weight weight = weight_of(losses, from);
    uint64_t count = 1;
    double a, b, by;

    if (!tc_plain_number(other, &by) || !tc_value_number(tc_value_get(from, "value"), &a) ||
        !tc_value_number(tc_value_get(to, "value"), &b) || by <= 0)
        return weight;
    if (tc_is_near(a / by, b)) {
        weight.in_all *= by;
        weight.labels *= is_count(by) ? by : 1;
    } else if (tc_is_near(a * by, b)) {
        tc_map_get(&losses->factors, (uint64_t)tc_serial_of(other), &count);
        weight.in_all /= by;
        weight.labels *= (double)count;
    }
    return weight;
}

static void keep(struct losses *losses, const struct tc_value *value, struct weight weight)
{
    if (losses->numbers.n >= MAX_NUMBERS)
        tc_map_release_structs(&losses->numbers);
    *(struct weight *)tc_map_struct(&losses->numbers, (uint64_t)tc_serial_of(value),
                                    sizeof(weight)) = weight;
}

static void on_number(struct losses *losses, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *value = call->end->value, *from = tc_first_tensor(call),
                          *other = tc_value_get(call->args, "other");
    struct weight weight = weight_of(losses, from);
    double by;

    if (!tc_n_dimensions(value) && !tc_requires_gradient(value))
        on_factor(losses, call);
    if (!tc_is_loss_value(value) || !tc_value_get(value, "value"))
        return;
    if (call->role == TC_ROLE_FUNCTION && tc_value_get(call->args, "target"))
        weight.in_all = weight.labels = count_labels(call);
    else if (tc_plain_number(other, &by))
        weight = scaled(losses, from, other, value);
    else if (tc_requires_gradient(other) && tc_plain_number(from, &by))
        weight = scaled(losses, other, from, value);
    else if (tc_requires_gradient(other) && weight.labels <= 1) /* a sum of two terms */
        weight = weight_of(losses, other);
    if (weight.in_all == 1 && weight.labels == 1)
        return;
    if (weight.spot.at == TC_SYM_EMPTY && weight.labels != 1)
        weight.spot = tc_spot_of(event);
    keep(losses, value, weight);
}

/* ---- steps --------------------------------------------------------------------------------- */

static void add_weight(struct spread *spread, struct weight weight)
{
    const struct weight least = spread->n ? spread->least : weight,
                        most = spread->n ? spread->most : weight;

    spread->least = spread->most = weight;
    spread->least.in_all = fmin(least.in_all, weight.in_all);
    spread->least.labels = fmin(least.labels, weight.labels);
    spread->most.in_all = fmax(most.in_all, weight.in_all);
    spread->most.labels = fmax(most.labels, weight.labels);
    spread->n++;
}

/* Is it known of each loss by how many labels it was divided? */
static bool is_divisor_told(const struct spread *spread)
{
    return spread->least.in_all > 0 && spread->least.labels > 1;
}

static bool is_uneven(const struct spread *spread)
{
    return spread->most.in_all >= MUCH_MORE * spread->least.in_all &&
           spread->most.labels >= MUCH_MORE * spread->least.labels;
}

/* At the division, or else at the step. */
static void answer(const struct tc_hearing *h, const struct spread *spread, uint64_t *n_uneven,
                   struct tc_place place)
{
    const bool is_even = !is_divisor_told(spread) || !is_uneven(spread);

    if (spread->least.spot.at != TC_SYM_EMPTY)
        tc_place_move(&place, &spread->least.spot);
    *n_uneven = tc_in_a_row(*n_uneven, !is_even);
    if (is_divisor_told(spread) && (is_even || *n_uneven >= TC_THIRD_TIME))
        tc_answer_of(h, is_even, (struct tc_example){.place = &place});
}

static void on_backward(struct losses *losses, const struct tc_call *call)
{
    const tc_sym line = tc_call_at(call);

    losses->is_mixed |= losses->spread.n && losses->line != line;
    losses->line = line;
    add_weight(&losses->spread, weight_of(losses, call->self));
}

/* A step waits until all ranks have told of it. */
static void on_step_of_ranks(const struct tc_hearing *h, const struct spread *spread)
{
    struct weighed_state *state = h->state;
    struct step_of_ranks *step = tc_tell_step(&state->steps, sizeof(*step), h->event, NULL);

    add_weight(&step->spread, spread->least);
    if (step->told.n < (uint64_t)h->event->process->world)
        return;
    answer(h, &step->spread, &state->n_uneven, step->told.place);
    step->told.n = step->spread.n = 0;
}

static void on_step(const struct tc_hearing *h, struct losses *losses)
{
    struct spread spread = losses->spread;
    struct tc_place place;

    losses->spread.n = 0;
    if (losses->is_mixed)
        spread.least = spread.most = (struct weight){0};
    losses->is_mixed = false;
    tc_place_of(h->event, &place);
    if (spread.n > 1)
        answer(h, &spread, &losses->n_uneven, place);
    if (spread.n && h->event->process->world > 1 && h->event->process->rank >= 0)
        on_step_of_ranks(h, &spread);
}

static void weighed_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct losses *losses = tc_hearing_state(h);

    if (call->role == TC_ROLE_BACKWARD)
        on_backward(losses, call);
    else if (call->role == TC_ROLE_STEP)
        on_step(h, losses);
    else
        on_number(losses, h->event);
}

const struct tc_relation_rule tc_rule_weighed = {
    TC_RULE(tc_rule_weighed),
    .form.name = "APIArg/weighed",
    .form.summary = "labels of one step weigh the same",
    .form.hint = "Is each loss a mean of its own labels, where their sum should be divided by the "
                 "number of labels of the whole step?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "weighed",
    .source.judged = "an optimizer step of several backwards, or of several ranks",
    .source.looks_closely = true,
    .source.state_size = sizeof(struct weighed_state),
    .source.release = weighed_release,
    .source.process_size = sizeof(struct losses),
    .source.release_process = losses_release,
    TC_CLAIM_ROLES(TC_ROLE_BACKWARD, TC_ROLE_STEP, TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_EQUAL_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_SCALED, TC_SYM_EQUAL, TC_SYM_DIFFERS),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a label weighs as much in each micro-batch of a step, and on each rank",
    .claim.seen = "a label of one micro-batch, or rank, weighed at least twice as much as one of "
                  "another, in a third step in a row%p",
    .at = TC_AT(BACKWARD) | TC_AT(STEP) | TC_AT(OPERATOR) | TC_AT(FUNCTION) | TC_AT(SCALER),
    .judge = weighed_judge,
};
