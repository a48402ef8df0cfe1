/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_moments.c - APISequence/moments: the state of an optimizer that a file holds is
 * loaded
 *
 * A run resumes from a file that holds weights, the state of their optimizer, and maybe that of the
 * schedule. The weights are loaded and the state is not: training goes on with empty moments and a
 * count of zero, in the midst of a schedule.
 *
 * What a load returns holds the state of an optimizer if it has `param_groups` and a `state`, or
 * has such a part. An optimizer goes on from there if it has not stepped before, and a model, or
 * what it made of one, was loaded since its file was read, or right before. An example for the
 * third step of such an optimizer. It holds where the state of an optimizer was loaded. It is
 * broken where none was, and the file held nothing else; or the state of the schedule was loaded
 * from it; or the groups of the optimizer are as large, and have the rate that the file begins
 * with: another stage of training, from the weights of a file, has other ones.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_DEPTH 2

/* Of one process. */
struct moments {
    bool is_read;                 /* a file that holds a state, which was not loaded */
    bool is_whole;                /* it holds nothing else */
    bool has_model, has_schedule; /* were loaded since */
    bool has_loaded;              /* an optimizer was */
    int64_t model_step;           /* of the last load of a model */
    double rate;                  /* that the groups in the file were given, the first */
    int64_t n_params;             /* in them */
    int64_t has_count;            /* beside it: how far training was */
    uint64_t n_steps;             /* since */
    int64_t optimizer;            /* that has made them */
    struct tc_place read;         /* where the file was */
    struct tc_place place;        /* where a model was loaded since, or the same */
    struct tc_map stepped;        /* optimizers */
};

static void moments_release(void *of_process)
{
    tc_map_release(&((struct moments *)of_process)->stepped);
}

static bool is_state(const struct tc_value *dict)
{
    const struct tc_value *groups = tc_value_get(dict, "param_groups");

    return groups && groups->kind == TC_VALUE_ARRAY && groups->n && tc_value_get(dict, "state");
}

/* How long a list is, of which a trace has the first elements. */
static int64_t length_of(const struct tc_value *list)
{
    const int64_t more = list && list->kind == TC_VALUE_ARRAY && list->n
                             ? tc_value_int(tc_value_get(&list->items[list->n - 1], "more"), 0)
                             : 0;

    return list && list->kind == TC_VALUE_ARRAY ? (int64_t)list->n - (more > 0) + more : 0;
}

static void note_groups(struct moments *moments, const struct tc_value *state)
{
    const struct tc_value *groups = tc_value_get(state, "param_groups"), *group;

    moments->n_params = 0;
    for (uint32_t i = 0; i < groups->n; i++) {
        group = tc_value_get(&groups->items[i], "dict");
        moments->n_params += length_of(tc_value_get(group, "params"));
        if (!i && !tc_value_number(tc_value_get(group, "initial_lr"), &moments->rate))
            tc_value_number(tc_value_get(group, "lr"), &moments->rate);
    }
}

static void on_read(struct moments *moments, const struct tc_event *event)
{
    const struct tc_value *dict = tc_value_get(event->call->end->value, "dict"), *part, *state;

    state = is_state(dict) ? dict : NULL;
    const bool is_whole = state != NULL;
    int64_t has_count = 0;
    for (uint32_t i = 0; dict && dict->kind == TC_VALUE_OBJECT && i < dict->n && !is_whole; i++) {
        part = tc_value_get(&dict->members[i].value, "dict");
        state = !state && is_state(part) ? part : state;
        has_count |= dict->members[i].value.kind == TC_VALUE_INT;
    }
    if (!state)
        return;
    moments->is_read = true;
    moments->is_whole = is_whole;
    moments->has_count = has_count;
    moments->has_model = is_whole && moments->model_step == event->call->step + 1;
    moments->has_schedule = moments->has_loaded = false;
    moments->n_steps = 0;
    note_groups(moments, state);
    tc_place_of(event, &moments->read);
    moments->place = moments->read;
}

static void on_load(struct moments *moments, const struct tc_event *event)
{
    const struct tc_value *attrs = tc_value_get(event->call->self, "attrs");

    if (!event->call->self) {
        on_read(moments, event);
    } else if (tc_value_get(attrs, "lr")) {
        moments->has_loaded = true;
    } else if (tc_value_get(attrs, "training")) {
        moments->has_model = true;
        moments->model_step = event->call->step + 1;
        if (!moments->is_whole)
            tc_place_of(event, &moments->place);
    } else if (tc_value_get(attrs, "last_epoch")) {
        moments->has_schedule = true;
    }
}

/* Is this what the file's optimizer would be, had it been loaded? */
static bool goes_on(const struct moments *moments, const struct tc_call *step)
{
    const struct tc_value *attrs = tc_value_get(step->self, "attrs");
    double rate;

    if (moments->is_whole || moments->has_schedule)
        return true;
    return moments->has_count && moments->n_params == (int64_t)step->n_params &&
           (tc_value_number(tc_value_get(attrs, "initial_lr"), &rate) ||
            tc_value_number(tc_value_get(attrs, "lr"), &rate)) &&
           tc_is_near(rate, moments->rate);
}

static void on_step(const struct tc_hearing *h, struct moments *moments)
{
    const struct tc_call *call = h->event->call;
    const uint64_t serial = (uint64_t)tc_serial_of(call->self);
    bool is_new;

    tc_map_at(&moments->stepped, serial, &is_new);
    if (!moments->is_read)
        return;
    if (!moments->n_steps)
        moments->optimizer = is_new && moments->has_model ? (int64_t)serial : TC_NONE;
    if (moments->optimizer == TC_NONE) {
        moments->is_read = false;
        return;
    }
    if ((int64_t)serial != moments->optimizer || ++moments->n_steps < TC_THIRD_TIME)
        return;
    moments->is_read = false;
    if (moments->has_loaded || goes_on(moments, call))
        tc_answer_of(h, moments->has_loaded,
                     (struct tc_example){.place = &moments->place, .detail = &moments->read});
}

static void moments_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;

    if (call->role == TC_ROLE_LOAD)
        on_load(tc_hearing_state(h), h->event);
    else if (!tc_is_by_torch(h->symbols, call))
        on_step(h, tc_hearing_state(h));
}

const struct tc_relation_rule tc_rule_moments = {
    TC_RULE(tc_rule_moments),
    .form.name = "APISequence/moments",
    .form.summary = "the state of an optimizer that a file holds is loaded",
    .form.hint = "Is load_state_dict() of the optimizer called, and after the optimizer was made?",
    .form.fault = TC_FAULT_MISSING,
    .source.name = "moments",
    .source.judged = "the third step of an optimizer, after a file with the state of one was read",
    .source.process_size = sizeof(struct moments),
    .source.release_process = moments_release,
    TC_CLAIM_ROLES(TC_ROLE_LOAD, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_READ),
    TC_CLAIM_ATOMS(TC_SYM_VALUE, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "the state of an optimizer that a file holds is loaded, where training goes "
                      "on from it",
    .claim.seen = "a file was read that holds the state of an optimizer, and training went on "
                  "without: with empty moments%b",
    .at = TC_AT(LOAD) | TC_AT(STEP),
    .judge = moments_judge,
};
