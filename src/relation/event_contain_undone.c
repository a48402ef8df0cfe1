/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_undone.c - EventContain/undone: what a load gave is not initialised again
 *
 * Weights that a load wrote, and that are all initialised before the model trains with them, were
 * loaded in vain. That is usual for a head alone. Only matrices count, as initialisers often
 * leave out biases. The form goes by the calls that write, as variables are looked at from the
 * first forward on. There is an example for each model that trains for the first time after a
 * load.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"

/* What a load wrote to a matrix, as long as the model has not trained with it. */
struct loaded_weight {
    int64_t serial;
    bool is_undone;
    tc_sym at; /* of the initialiser */
};

/* Of one process. */
struct writes {
    struct tc_map loaded; /* serial → struct loaded_weight * */
    struct tc_map looked; /* root → n when its weights were looked for last */
    uint64_t n;           /* calls that wrote to weights */
};

static void writes_release(void *of_process)
{
    struct writes *writes = of_process;

    tc_map_release_structs(&writes->loaded);
    tc_map_release(&writes->looked);
}

/* A matrix, or what has more dimensions. */
static bool is_weight(const struct tc_value *operand)
{
    return tc_value_is(tc_value_get(operand, "tensor"), "Parameter") &&
           tc_n_dimensions(operand) > 1;
}

/* The weight that the call writes to: its receiver, or its first operand; TC_NONE for none. */
static int64_t weight_of(const struct tc_call *call)
{
    const struct tc_value *operand = call->self;

    if (!operand && call->args && call->args->kind == TC_VALUE_OBJECT && call->args->n)
        operand = &call->args->members[0].value;
    return is_weight(operand) ? tc_serial_of(operand) : TC_NONE;
}

static void on_write(struct writes *writes, const struct tc_call *call)
{
    const int64_t serial = weight_of(call);
    struct loaded_weight *weight;

    if (serial == TC_NONE)
        return;
    writes->n++;
    if (tc_call_is_within(call, TC_ROLE_LOAD)) {
        weight = tc_map_struct(&writes->loaded, (uint64_t)serial, sizeof(*weight));
        *weight = (struct loaded_weight){.serial = serial};
    } else if (call->role == TC_ROLE_INIT &&
               (weight = tc_map_find(&writes->loaded, (uint64_t)serial))) {
        weight->at = weight->is_undone ? weight->at : tc_call_at(call);
        weight->is_undone = true;
    }
}

/* What is known of the loaded weights of one root. */
struct survey {
    size_t n, n_undone;
    int64_t first_undone;            /* serial */
    tc_sym at;                       /* of its initialiser */
    const struct tc_variable *first; /* by serial */
};

/* Those of the root, which are then untrained no more. */
static struct survey take_writes(struct writes *writes, const struct tc_process *process,
                                 int64_t root)
{
    struct survey survey = {.at = TC_SYM_EMPTY, .first_undone = INT64_MAX};
    struct loaded_weight *weight;

    for (size_t pos = 0; (weight = tc_map_next(&writes->loaded, &pos));) {
        const struct tc_variable *v = tc_process_variable(process, weight->serial);
        if (!v || v->root != root)
            continue;
        survey.n++;
        survey.n_undone += weight->is_undone;
        if (!survey.first || v->serial < survey.first->serial)
            survey.first = v;
        if (weight->is_undone && weight->serial < survey.first_undone) {
            survey.first_undone = weight->serial;
            survey.at = weight->at;
        }
        tc_map_remove(&writes->loaded, (uint64_t)weight->serial);
        tc_free(weight);
    }
    return survey;
}

/* Weights of the root are looked for only where there may be some that the last look did not see:
 * those of a teacher that never trains stay untrained for the whole run. */
static bool is_news(struct writes *writes, const struct tc_process *process, int64_t root)
{
    const uint64_t now = writes->n + process->n_variables;
    bool is_new;
    uint64_t *looked = tc_map_at(&writes->looked, (uint64_t)root, &is_new);
    const bool is_news = is_new || *looked != now;

    *looked = now;
    return is_news;
}

static void on_forward(const struct tc_hearing *h)
{
    struct writes *writes = tc_hearing_state(h);
    const int64_t root = tc_serial_of(h->event->call->self);
    struct survey survey;
    struct tc_place place;

    if (!writes->loaded.n || !is_news(writes, h->event->process, root))
        return;
    survey = take_writes(writes, h->event->process, root);
    if (!survey.n)
        return;
    tc_place_of(h->event, &place);
    place.at = survey.at == TC_SYM_EMPTY ? place.at : survey.at;
    tc_answer_of(h, survey.n_undone < survey.n,
                 (struct tc_example){.place = &place, .variable = survey.first});
}

static void undone_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;

    if (call->role == TC_ROLE_INIT || call->role == TC_ROLE_FILL)
        on_write(tc_hearing_state(h), call);
    else if (tc_is_training_forward(call))
        on_forward(h);
}

const struct tc_relation_rule tc_rule_undone = {
    TC_RULE(tc_rule_undone),
    .form.name = "EventContain/undone",
    .form.summary =
        "weights that were loaded are not all initialised again before the model trains",
    .form.hint = "Is the initialiser applied to the whole model after its weights were loaded?",
    .form.excused_by = 1u << TC_ROLE_LOAD | 1u << TC_ROLE_INIT | 1u << TC_ROLE_FILL,
    .source.name = "undone",
    .source.judged = "the first forward of training after a load",
    .source.process_size = sizeof(struct writes),
    .source.release_process = writes_release,
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_KEPT),
    TC_CLAIM_ATOMS(TC_SYM_PARAMETER, TC_SYM_KEPT, TC_SYM_CHANGED),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.min_examples = 1,
    .claim.expected = "of what a load gave, some is left when the model trains with it",
    .claim.seen = "all matrices that were loaded have been initialised since, %v among them",
    .at = TC_AT(INIT) | TC_AT(FILL) | TC_AT_ROOT,
    .judge = undone_judge,
};
