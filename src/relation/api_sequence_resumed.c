/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_resumed.c - APISequence/resumed: a schedule goes on where its optimizer does
 *
 * A checkpoint holds the state of an optimizer whose rate a schedule has led. Loaded without that
 * of the schedule, which begins anew, the first step of the schedule sets the rate of the start: a
 * second warm-up, and no end of the decay.
 *
 * The schedule is made for an optimizer, which is then given a state whose rate a schedule has
 * moved from `initial_lr`. An example for the first step of the schedule after a step of that
 * optimizer. It holds where the schedule was loaded, too, or led on by hand to where it was, and is
 * broken where it begins. One that is made after the load may be another stage, and says nothing.
 *
 * A schedule that was loaded stands where it was. Led on by hand as well, by as many steps as it
 * had, before its optimizer steps, it is twice as far: that is broken, too.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* A scheduler. */
struct schedule {
    int64_t optimizer;
    int64_t made; /* id of the call */
    bool is_loaded;
    int64_t taken_up; /* where it stood when it was led on first behind the load */
    int64_t n_led;    /* steps since then, until its optimizer steps; -1: it has stepped */
    struct tc_place led;
};

/* An optimizer. */
struct restored {
    int64_t load;     /* id of the last load of a state in the midst of a schedule; 0: none */
    bool has_stepped; /* since then */
    struct tc_place place;
};

/* Of one process. */
struct resumed {
    struct tc_map schedules;  /* scheduler → struct schedule * */
    struct tc_map optimizers; /* optimizer → struct restored * */
};

static void resumed_release(void *of_process)
{
    struct resumed *resumed = of_process;

    tc_map_release_structs(&resumed->schedules);
    tc_map_release_structs(&resumed->optimizers);
}

static void *known(const struct tc_map *map, const struct tc_value *object)
{
    return tc_map_find(map, (uint64_t)tc_serial_of(object));
}

static void on_made(struct resumed *resumed, const struct tc_call *call)
{
    const struct tc_value *optimizer = tc_value_get(call->args, "optimizer");
    struct schedule *schedule;

    if (!tc_value_get(optimizer, "id") || !tc_value_get(call->args, "last_epoch"))
        return;
    schedule =
        tc_map_struct(&resumed->schedules, (uint64_t)tc_serial_of(call->self), sizeof(*schedule));
    *schedule =
        (struct schedule){.optimizer = tc_serial_of(optimizer), .made = call->id, .n_led = -1};
}

/* The rate of the first group of the state, and what it was before the schedule moved it. One that
 * the optimizer has already is restored from nowhere: libraries load an optimizer's own state to
 * move it to a device, when a schedule has begun. */
static bool is_in_midst(const struct tc_call *load)
{
    const struct tc_value *own = tc_value_get(tc_value_get(load->self, "attrs"), "lr");
    const struct tc_value *state = tc_value_get(tc_value_get(load->args, "state_dict"), "dict"),
                          *groups = tc_value_get(state, "param_groups"), *group;
    double rate, first, now;

    if (!groups || groups->kind != TC_VALUE_ARRAY || !groups->n)
        return false;
    group = tc_value_get(&groups->items[0], "dict");
    return tc_value_number(tc_value_get(group, "lr"), &rate) &&
           tc_value_number(tc_value_get(group, "initial_lr"), &first) &&
           (rate < first || rate > first) &&
           !(tc_value_number(own, &now) && !(now < rate) && !(now > rate));
}

static void on_load(struct resumed *resumed, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    struct schedule *schedule = known(&resumed->schedules, call->self);
    struct restored *restored;

    if (schedule) {
        schedule->is_loaded = true;
        schedule->n_led = 0;
    } else if (is_in_midst(call)) {
        restored = tc_map_struct(&resumed->optimizers, (uint64_t)tc_serial_of(call->self),
                                 sizeof(*restored));
        *restored = (struct restored){.load = call->id};
        tc_place_of(event, &restored->place);
    }
}

/* Is there a schedule of this optimizer that was restored, and led as far again? */
static void judge_led(const struct tc_hearing *h, struct resumed *resumed)
{
    struct schedule *schedule;

    for (size_t pos = 0; (schedule = tc_map_next(&resumed->schedules, &pos));) {
        if (schedule->optimizer != tc_serial_of(h->event->call->self))
            continue;
        if (schedule->n_led >= TC_THIRD_TIME && schedule->n_led == schedule->taken_up)
            tc_answer_of(h, false,
                         (struct tc_example){.place = &schedule->led, .detail = &schedule->led});
        schedule->n_led = -1;
    }
}

static void on_step(const struct tc_hearing *h, struct resumed *resumed)
{
    struct restored *restored = known(&resumed->optimizers, h->event->call->self);

    if (restored)
        restored->has_stepped = true;
    judge_led(h, resumed);
}

static void note_led(struct schedule *schedule, const struct tc_event *event, int64_t last)
{
    if (schedule->n_led++)
        return;
    schedule->taken_up = last;
    tc_place_of(event, &schedule->led);
}

static void on_schedule(const struct tc_hearing *h, struct resumed *resumed)
{
    const struct tc_call *call = h->event->call;
    const int64_t last =
        tc_value_int(tc_value_get(tc_value_get(call->self, "attrs"), "last_epoch"), -1);
    struct schedule *schedule = known(&resumed->schedules, call->self);
    struct restored *restored;

    if (!schedule || tc_is_by_torch(h->symbols, call) ||
        tc_call_is_within(call->parent, TC_ROLE_SCHEDULER))
        return;
    if (schedule->n_led >= 0)
        note_led(schedule, h->event, last);
    restored = tc_map_find(&resumed->optimizers, (uint64_t)schedule->optimizer);
    if (!restored || !restored->load || !restored->has_stepped || schedule->made > restored->load)
        return;
    restored->load = 0;
    tc_answer_of(h, schedule->is_loaded || last != 0,
                 (struct tc_example){.detail = &restored->place});
}

static void resumed_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct resumed *resumed = tc_hearing_state(h);

    if (call->role == TC_ROLE_MAKE)
        on_made(resumed, call);
    else if (call->role == TC_ROLE_LOAD)
        on_load(resumed, h->event);
    else if (call->role == TC_ROLE_STEP)
        on_step(h, resumed);
    else
        on_schedule(h, resumed);
}

const struct tc_relation_rule tc_rule_resumed = {
    TC_RULE(tc_rule_resumed),
    .form.name = "APISequence/resumed",
    .form.summary = "a schedule goes on where its optimizer does",
    .form.hint = "Is the state of the scheduler in the checkpoint, and loaded from it?",
    .form.fault = TC_FAULT_MISSING,
    .form.needs_operators = true,
    .source.name = "resumed",
    .source.judged =
        "the first step of a schedule whose optimizer was restored in the midst of one",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct resumed),
    .source.release_process = resumed_release,
    TC_CLAIM_ROLES(TC_ROLE_LOAD, TC_ROLE_SCHEDULER),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_NEXT),
    TC_CLAIM_ATOMS(TC_SYM_SELF, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a schedule does not begin anew where its optimizer was restored, nor twice "
                      "as far",
    .claim.seen = "the schedule began at its start, while the optimizer was loaded in the midst of "
                  "one and its state was not; or it was loaded, and led on as far again%b",
    .at = TC_AT(MAKE) | TC_AT(LOAD) | TC_AT(STEP) | TC_AT(SCHEDULER),
    .judge = resumed_judge,
};
