/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_answers.c - Consistent/answers: a model that answers follows the one that is trained
 *
 * Answers are drawn from a copy of the model that is trained, which gets its weights from time to
 * time. A copy that never gets any answers as the model did when training began, and the model
 * does not learn from its own answers.
 *
 * A model is a root with two matrices or more. It answers if the script draws, three times or
 * more, from the result of a forward without gradients. A copy began with the same matrices, and
 * nothing steps it. A trained model has changed by ten steps or more. There is an example for
 * each copy that answers, when the run is over. It is broken if the copy has never changed and
 * nobody draws from a model that is trained: a script that compares a model with its beginning
 * draws from both.
 *
 * All models are of one process. In a process without steps, weights may be written in ways that
 * no look sees, as in shared memory, so a copy in a process of its own is not judged.
 */
#include "relation/consistent.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MIN_MATRICES 2
#define MIN_STEPS    10
#define MAX_MODELS   256

/* The draws from one root. */
struct answers {
    uint64_t n;
    struct tc_place place; /* of the first */
};

/* Of one process. */
struct answering {
    const struct tc_process *process;
    struct tc_map roots; /* serial → struct answers * */
    int64_t asked;       /* the root that was asked last, without gradients; 0: with them */
    uint64_t n_steps;
};

/* A model of a process, at the end of the run. */
struct found {
    const struct answering *of;
    int64_t root;
    uint64_t first, last; /* sums of digests of its matrices, with their names */
    size_t n;             /* of these */
    bool is_trained;
    const struct tc_variable *matrix; /* the one of the lowest serial */
};

static void answering_release(void *of_process)
{
    tc_map_release_structs(&((struct answering *)of_process)->roots);
}

/* ---- looking -------------------------------------------------------------------------------- */

static void on_call(struct answering *answering, const struct tc_strtab *symbols,
                    const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    struct answers *answers;

    if (call->is_root)
        answering->asked = tc_value_get(call->ctx, "grad") ? tc_serial_of(call->self) : 0;
    if (call->is_root || answering->asked <= 0 || !tc_is_draw(symbols, call))
        return;
    answers = tc_map_struct(&answering->roots, (uint64_t)answering->asked, sizeof(*answers));
    if (!answers->n++)
        tc_place_of(event, &answers->place);
}

static void add_matrix(struct found *model, const struct tc_strtab *symbols,
                       const struct tc_variable *v)
{
    model->root = v->root;
    model->n++;
    model->first += tc_content_in_model(symbols, v, v->first_data);
    model->last += tc_content_in_model(symbols, v, v->data);
    model->is_trained |= v->stepped >= 0;
    if (!model->matrix || v->serial < model->matrix->serial)
        model->matrix = v;
}

/* The models of a process; returns how many there are. */
static size_t find_models(const struct answering *answering, const struct tc_strtab *symbols,
                          struct found out[MAX_MODELS])
{
    const struct tc_variable *v;
    size_t n = 0;

    for (size_t pos = 0; (v = tc_map_next(&answering->process->variables, &pos));) {
        size_t i = 0;
        if (!tc_is_told_matrix(v))
            continue;
        while (i < n && out[i].root != v->root)
            i++;
        if (i == MAX_MODELS)
            continue;
        if (i == n)
            out[n++] = (struct found){.of = answering};
        add_matrix(&out[i], symbols, v);
    }
    return n;
}

/* ---- judging -------------------------------------------------------------------------------- */

static const struct answers *answers_of(const struct found *model)
{
    return tc_map_find(&model->of->roots, (uint64_t)model->root);
}

/* Did it begin as that one, which is trained? */
static bool is_copy_of(const struct found *model, const struct found *trained)
{
    return trained->is_trained && trained->of->n_steps >= MIN_STEPS &&
           trained->last != trained->first && trained->n == model->n &&
           trained->first == model->first;
}

static void tell_answer(const struct found *model, bool follows, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    const tc_sym outcome = follows ? TC_SYM_CHANGED : TC_SYM_UNCHANGED;
    const struct tc_example example = {.key = TC_SYM_DRAWN,
                                       .situation = &tc_no_situation,
                                       .outcome = &outcome,
                                       .n_outcome = 1,
                                       .variable = model->matrix,
                                       .place = &answers_of(model)->place};

    sink->example(sink->context, event, &example);
}

static void judge_model(const struct found *models, size_t n, const struct found *model,
                        const struct tc_event *event, const struct tc_sink *sink)
{
    const struct answers *answers = answers_of(model);
    bool is_copy = false, is_answered = false;

    if (model->is_trained || model->n < MIN_MATRICES || !answers || answers->n < TC_THIRD_TIME)
        return;
    for (size_t i = 0; i < n; i++) {
        is_copy |= is_copy_of(model, &models[i]);
        is_answered |= models[i].is_trained && answers_of(&models[i]);
    }
    if (is_copy && (model->last != model->first || !is_answered))
        tell_answer(model, model->last != model->first, event, sink);
}

static void on_finish(struct tc_process_states *states, const struct tc_strtab *symbols,
                      const struct tc_event *event, const struct tc_sink *sink)
{
    struct found models[MAX_MODELS];
    const struct answering *answering;

    for (size_t pos = 0; (answering = tc_map_next(&states->items, &pos));) {
        const size_t n = answering->roots.n ? find_models(answering, symbols, models) : 0;
        for (size_t i = 0; i < n; i++)
            judge_model(models, n, &models[i], event, sink);
    }
}

static void answers_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                            const struct tc_sink *sink)
{
    struct answering *answering;

    if (event->kind == TC_EVENT_FINISH)
        on_finish(state, symbols, event, sink);
    if (!event->process || event->process->is_worker)
        return;
    answering = tc_process_state(state, event->process);
    answering->process = event->process;
    if (event->kind == TC_EVENT_WINDOW)
        answering->n_steps += event->window->has_step;
    else if (event->kind == TC_EVENT_CALL && !event->call->raised)
        on_call(answering, symbols, event);
}

const struct tc_source tc_source_answers = {.name = "answers",
                                            .judged = "the end of the run, for each copy that "
                                                      "answers",
                                            .is_set = true,
                                            .looks_closely = true,
                                            .process_size = sizeof(struct answering),
                                            .release_process = answering_release,
                                            .observe = answers_observe};

static const struct tc_claim claims[] = {
    {.key = {TC_SYM_DRAWN},
     .kind = TC_SYM_PARAMETER,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_DATA,
     .to = TC_SYM_DRAWN,
     .held = {TC_SYM_CHANGED},
     .broken = {TC_SYM_UNCHANGED},
     .if_met = true,
     .support = TC_SUPPORT_RULE,
     .expected =
         "a copy of a model that is trained, from which alone answers are drawn, follows it", .seen = "answers were drawn from the model of %v alone, which has never changed, while the "
             "model that it began as was trained"},
};

const struct tc_relation tc_consistent_answers = {
    .name = "Consistent/answers",
    .summary = "a model that answers follows the one that is trained",
    .hint = "Are new weights sent to the copy that answers, and under the names that it has?",
    .needs_operators = true,
    .source = &tc_source_answers,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
