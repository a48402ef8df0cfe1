/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_rate.c - APIArg/rate: an optimizer steps with a rate at which it can learn
 *
 * A warm-up may begin at zero and a schedule may end there. Three steps in a row at a rate of
 * zero that change nothing are lost: a warm-up divides integers, or a schedule ends too early.
 * After steps at another rate they count once there are half as many: a cosine rests for an epoch
 * at its end, before the next schedule takes over. Before any step at another rate they count where
 * a schedule leads the optimizer: a script that sets the rate by hand fills moments at a rate of
 * zero on purpose. The first step does not have the square of the optimizer's rate: a schedule that
 * should return a factor returned a rate.
 *
 * A rate that has come to zero does not go back up as it came: a cosine that is stepped further
 * than it goes rises again, and falls. Its length was counted in epochs, and it is stepped for each
 * batch. The three rates after zero are the three before it, turned round, for the second time or
 * more. A restart jumps up, and the warm-up of another task is as long as it likes.
 *
 * There is an example for each step of an optimizer. The square is judged at the first step, in a
 * process that has loaded nothing.
 */
#include "relation/claims.h"
#include "relation/form.h"
#include "relation/third_time.h"

#include <string.h>

#include "replay/symbols.h"

/* A rate as large is a factor as well: the square of one is one. */
#define MAX_RATE  0.1
#define PRECISION 1e-6
/* Beside the highest rate it is zero. */
#define NOTHING  1e-9
#define N_BEFORE 3 /* and as many after */
#define N_RATES  (2 * N_BEFORE + 1)
#define MAX_MADE 4096

/* Of one optimizer. */
struct steps {
    uint64_t n_at_zero; /* in a row */
    uint64_t n_learned; /* at another rate, in all */
    bool has_stepped;
    double highest, last[N_RATES]; /* the latest last */
    uint64_t n_last, n_mirrored;
};

/* Of one process. */
struct rates {
    struct tc_map optimizers; /* by serial: struct steps * */
    bool has_loaded, has_schedule;
    struct tc_place schedule; /* where a line led one on last, or made that one */
    struct tc_map made;       /* serial → struct tc_spot *, of what lines have made */
};

static void rates_release(void *of_process)
{
    struct rates *rates = of_process;

    tc_map_release_structs(&rates->optimizers);
    tc_map_release_structs(&rates->made);
}

/* Did the step change none of what its optimizer owns, as where all groups have a rate of zero? */
static bool is_idle(const struct tc_event *event)
{
    const struct tc_variable *v;
    bool is_told = false;

    for (size_t i = 0; i < event->call->n_params; i++) {
        v = tc_process_variable(event->process, event->call->params[i]);
        if (v && v->has_data && v->data_cause >= event->call->id)
            return false;
        is_told |= v && v->has_data;
    }
    return is_told;
}

static bool is_square(double rate, double given)
{
    const double difference = rate - given * given;

    return difference <= PRECISION * given * given && -difference <= PRECISION * given * given;
}

/* Is the rate in the middle zero, and do those beside it rise, the same on both sides? */
static bool is_mirrored(struct steps *steps, double rate)
{
    const double *zero = &steps->last[N_BEFORE];

    steps->highest = rate > steps->highest ? rate : steps->highest;
    memmove(steps->last, steps->last + 1, (N_RATES - 1) * sizeof(*steps->last));
    steps->last[N_RATES - 1] = rate;
    if (++steps->n_last < N_RATES || *zero > NOTHING * steps->highest || *zero < 0)
        return false;
    for (int i = 1; i <= N_BEFORE; i++)
        if (zero[i] <= zero[i - 1] || !tc_is_near(zero[-i], zero[i]))
            return false;
    return true;
}

/* How the rate stands to zero, to those before, and to the one that was given; returns the number
 * of words. */
static size_t outcome_of(struct steps *steps, const struct tc_event *event, bool has_loaded,
                         tc_sym out[3])
{
    const struct tc_value *settings = tc_value_get(event->call->self, "attrs");
    double rate, given;
    size_t n = 0;

    if (!tc_value_number(tc_value_get(settings, "lr"), &rate))
        return 0;
    const bool is_led = tc_value_get(settings, "initial_lr") || steps->n_learned;
    steps->n_at_zero = tc_in_a_row(steps->n_at_zero, rate == 0 && is_led && is_idle(event));
    steps->n_learned += rate != 0;
    if (rate != 0)
        out[n++] = TC_SYM_NOT_ZERO;
    else if (steps->n_at_zero >= TC_THIRD_TIME && steps->n_at_zero >= steps->n_learned / 2)
        out[n++] = TC_SYM_ZERO;
    if (!steps->has_stepped && !has_loaded && rate > 0 &&
        tc_value_number(tc_value_get(settings, "initial_lr"), &given) && given > 0 &&
        given < MAX_RATE)
        out[n++] = is_square(rate, given) ? TC_SYM_EQUAL : TC_SYM_DIFFERS;
    steps->has_stepped = true;
    const bool is_back = is_mirrored(steps, rate);
    steps->n_mirrored += is_back;
    out[n++] = is_back && steps->n_mirrored > 1 ? TC_SYM_REPEATED : TC_SYM_NEXT;
    return n;
}

static void on_step(struct rates *rates, const struct tc_event *event, const struct tc_sink *sink)
{
    const int64_t serial = tc_serial_of(event->call->self);
    struct steps *steps = tc_map_struct(&rates->optimizers, (uint64_t)serial, sizeof(*steps));
    tc_sym outcome[3];
    const size_t n = outcome_of(steps, event, rates->has_loaded, outcome);

    tc_sym_sort(outcome, n);
    const struct tc_example example = {.key = TC_SYM_F_SELF_LR,
                                       .situation = &tc_no_situation,
                                       .outcome = outcome,
                                       .n_outcome = n,
                                       .detail = rates->has_schedule ? &rates->schedule : NULL};
    if (n)
        sink->example(sink->context, event, &example);
}

/* A schedule that is too short is made so, and led by a line that is right. */
static void on_made(struct rates *rates, const struct tc_event *event)
{
    if (rates->made.n < MAX_MADE)
        tc_spot_keep(&rates->made, event->call->self, tc_spot_of(event));
}

static void rate_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct rates *rates = tc_process_state(state, event->process);

    if (event->kind == TC_EVENT_CALL && event->call->role == TC_ROLE_MAKE)
        on_made(rates, event);
    if (!tc_is_subject(event))
        return;
    if (event->call->role == TC_ROLE_STEP)
        on_step(rates, event, sink);
    else if (event->call->role == TC_ROLE_LOAD)
        rates->has_loaded = true;
    else if (event->call->role == TC_ROLE_SCHEDULER && !tc_is_by_torch(symbols, event->call) &&
             !tc_call_is_within(event->call->parent, TC_ROLE_SCHEDULER)) {
        const struct tc_spot *made =
            tc_map_find(&rates->made, (uint64_t)tc_serial_of(event->call->self));
        rates->has_schedule = true;
        tc_place_of(event, &rates->schedule);
        if (made)
            tc_place_move(&rates->schedule, made);
    }
}

const struct tc_source tc_source_rate = {.name = "rate",
                                         .judged = "an optimizer step",
                                         .is_set = true,
                                         .looks_closely = true,
                                         .process_size = sizeof(struct rates),
                                         .release_process = rates_release,
                                         .observe = rate_observe};

#define CLAIM(support_, to_, held_, broken_, expected_, seen_)                                    \
    {                                                                                             \
        .key = {TC_SYM_F_SELF_LR}, .roles = {TC_ROLE_STEP}, .n_roles = 1, .of = TC_PARAM_OPERAND, \
        .kind = TC_SYM_F_SELF_LR, .attr = TC_SYM_IS, .to = (to_), .held = {(held_)},              \
        .broken = {(broken_)}, .if_met = true, .support = (support_), .expected = (expected_),    \
        .seen = (seen_)                                                                           \
    }

static const struct tc_claim claims[] = {
    CLAIM(
        TC_SUPPORT_USAGE, TC_SYM_NOT_ZERO, TC_SYM_NOT_ZERO, TC_SYM_ZERO,
        "no optimizer takes " TC_TEXT(TC_THIRD_TIME) " steps in a row at a rate of zero",
        "lr was 0, and nothing changed, for " TC_TEXT(TC_THIRD_TIME) " steps in a row or more%r%b"),
    CLAIM(TC_SUPPORT_USAGE, TC_SYM_DISTINCT_VALUE, TC_SYM_DIFFERS, TC_SYM_EQUAL,
          "the first step of an optimizer does not have the square of the rate that it was given",
          "lr is initial_lr times itself%r"),
    CLAIM(TC_SUPPORT_RULE, TC_SYM_NEXT, TC_SYM_NEXT, TC_SYM_REPEATED,
          "a learning rate that has come to zero does not go back up as it came",
          "lr came to zero and went back up as it came, again and again: the schedule is shorter "
          "than the training, and is stepped on%r%b"),
};

const struct tc_relation tc_api_arg_rate = {
    .name = "APIArg/rate",
    .summary = "an optimizer steps with a rate at which it can learn",
    .hint = "Is the schedule as long as the training, and does it give a factor where it is asked "
            "for one?",
    .excused_by = 1u << TC_ROLE_LOAD,
    .lag = TC_THIRD_TIME - 1,
    .source = &tc_source_rate,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
