/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_models.c - Consistent/models: models of one process that begin alike go ways that fit
 *
 *   twins       two models that train do not stay copies of each other: they began with the same
 *               weights and get the same inputs, so one of them is useless
 *   followers   a model that began as a copy of one that trains, and is called while that trains,
 *               follows it, if another copy follows its own model: a target network that was
 *               forgotten
 *
 * A model is a root with two matrices or more. There is an example for each step window that has
 * two models that train, and for each follower in it.
 */
#include "relation/consistent.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MIN_MATRICES 2
#define MIN_FOLLOWED 10 /* moves of one copy after which the other is late */
#define MAX_MODELS   64

/* Of one root, now and up to now. */
struct model {
    int64_t root;
    uint64_t first, now, last; /* sums of digests of its matrices, with their names */
    uint64_t window;           /* in which that was so */
    size_t n;                  /* matrices */
    unsigned n_moves;          /* windows in which some changed */
    uint64_t n_alike;          /* in a row in which it moved and was as another that moved */
    uint64_t n_asked;          /* windows in which it was */
    bool is_asked;             /* in the open one */
    bool is_trained, has_moved;
    const struct tc_variable *a_matrix;
};

/* Of one process. */
struct models {
    struct tc_map items; /* root → struct model * */
    uint64_t n_windows;
};

static void models_release(void *of_process)
{
    tc_map_release_structs(&((struct models *)of_process)->items);
}

/* ---- looking -------------------------------------------------------------------------------- */

static void begin(struct model *model, const struct tc_variable *v, uint64_t window)
{
    model->root = v->root;
    model->last = model->now;
    model->window = window;
    model->first = model->now = 0;
    model->n = 0;
    model->a_matrix = NULL;
}

static void look_at(struct models *models, const struct tc_strtab *symbols,
                    const struct tc_process *process)
{
    const struct tc_variable *v;

    models->n_windows++;
    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        if (!tc_is_told_matrix(v))
            continue;
        struct model *model =
            tc_map_struct(&models->items, (uint64_t)v->root, sizeof(struct model));
        if (model->window != models->n_windows)
            begin(model, v, models->n_windows);
        model->n++;
        model->first += tc_content_in_model(symbols, v, v->first_data);
        model->now += tc_content_in_model(symbols, v, v->data);
        model->is_trained |= v->stepped >= 0;
        if (!model->a_matrix || v->serial < model->a_matrix->serial)
            model->a_matrix = v;
    }
}

/* The models of this window; what they are now is compared with what they were. */
static size_t list(struct models *models, struct model *out[MAX_MODELS])
{
    struct model *model;
    size_t n = 0;

    for (size_t pos = 0; n < MAX_MODELS && (model = tc_map_next(&models->items, &pos));) {
        if (model->window != models->n_windows || model->n < MIN_MATRICES)
            continue;
        model->has_moved = model->last ? model->now != model->last : model->now != model->first;
        model->n_moves += model->has_moved;
        model->n_asked += model->is_asked;
        model->is_asked = false;
        out[n++] = model;
    }
    return n;
}

/* ---- judging -------------------------------------------------------------------------------- */

static void emit(const struct tc_event *event, const struct tc_sink *sink, tc_sym key, tc_sym said,
                 const struct model *model)
{
    tc_consistent_emit(sink, event, key, &tc_no_situation, &said, 1, model->a_matrix);
}

static bool is_training(const struct model *model)
{
    return model->is_trained && model->has_moved;
}

static void judge_twins(struct model *const models[], size_t n, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    struct model *last = NULL, *twin = NULL;

    for (size_t i = 0; i < n; i++) {
        bool is_alike = false;
        if (!is_training(models[i]))
            continue;
        for (size_t j = 0; j < n; j++)
            is_alike |= j != i && is_training(models[j]) && models[j]->n == models[i]->n &&
                        models[j]->now == models[i]->now;
        models[i]->n_alike = tc_in_a_row(models[i]->n_alike, is_alike);
        if (is_alike && (!twin || twin->root < models[i]->root))
            twin = models[i];
        if (last && !twin)
            emit(event, sink, TC_SYM_DISTINCT, TC_SYM_DISTINCT, models[i]);
        last = models[i];
    }
    if (twin && twin->n_alike >= TC_THIRD_TIME)
        emit(event, sink, TC_SYM_DISTINCT, TC_SYM_REPEATED, twin);
}

/* The model that it began as a copy of; NULL where it trains itself, or is no copy. */
static const struct model *source_of(const struct model *model, struct model *const models[],
                                     size_t n)
{
    for (size_t i = 0; i < n && !model->is_trained; i++)
        if (models[i]->is_trained && models[i]->n_moves >= TC_THIRD_TIME &&
            models[i]->n == model->n && models[i]->first == model->first)
            return models[i];
    return NULL;
}

/* Does a copy of another model follow that? Of one model a copy may be kept as it was beside one
 * that follows. */
static bool has_follower(const struct model *source, struct model *const models[], size_t n)
{
    const struct model *other;
    bool follows_other = false;

    for (size_t i = 0; i < n; i++) {
        if (models[i]->n_moves < MIN_FOLLOWED || !(other = source_of(models[i], models, n)))
            continue;
        if (other == source)
            return false;
        follows_other = true;
    }
    return follows_other;
}

/* Is it asked in most steps, as what a loss needs is? */
static bool is_needed(const struct model *model, uint64_t n_windows)
{
    return model->n_asked >= TC_THIRD_TIME && 2 * model->n_asked > n_windows;
}

static void judge_followers(const struct models *all, struct model *const models[], size_t n,
                            const struct tc_event *event, const struct tc_sink *sink)
{
    const struct model *source;

    for (size_t i = 0; i < n; i++) {
        if (!(source = source_of(models[i], models, n)))
            continue;
        if (models[i]->n_moves)
            emit(event, sink, TC_SYM_CHANGED, TC_SYM_CHANGED, models[i]);
        else if (is_needed(models[i], all->n_windows) && has_follower(source, models, n))
            emit(event, sink, TC_SYM_CHANGED, TC_SYM_UNCHANGED, models[i]);
    }
}

static void models_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    struct model *listed[MAX_MODELS], *model;

    if (!event->process || event->process->is_worker || event->process->has_samples)
        return;
    struct models *models = tc_process_state(state, event->process);
    if (event->kind == TC_EVENT_CALL && event->call->is_root && !event->call->raised) {
        const int64_t root = tc_serial_of(event->call->self);
        model = tc_map_struct(&models->items, (uint64_t)root, sizeof(*model));
        model->is_asked = true;
    } else if (tc_is_step_window(event)) {
        look_at(models, symbols, event->process);
        const size_t n = list(models, listed);
        judge_twins(listed, n, event, sink);
        judge_followers(models, listed, n, event, sink);
    }
}

const struct tc_source tc_source_models = {.name = "models",
                                           .judged = "the end of a step window, for each model",
                                           .is_set = true,
                                           .process_size = sizeof(struct models),
                                           .release_process = models_release,
                                           .observe = models_observe};

#define CLAIM(to_, broken_, expected_, seen_)                                                   \
    {                                                                                           \
        .key = {(to_)}, .kind = TC_SYM_PARAMETER, .of = TC_PARAM_VARIABLE, .attr = TC_SYM_DATA, \
        .to = (to_), .held = {(to_)}, .broken = {(broken_)}, .if_met = true,                    \
        .support = TC_SUPPORT_LAW, .expected = (expected_), .seen = (seen_)                     \
    }

static const struct tc_claim claims[] = {
    CLAIM(TC_SYM_DISTINCT, TC_SYM_REPEATED,
          "two models that train do not stay copies of each other",
          "the model of %v has been equal to another in all matrices for " TC_TEXT(
              TC_THIRD_TIME) " steps, though both train"),
    CLAIM(TC_SYM_CHANGED, TC_SYM_UNCHANGED,
          "a copy of a model that trains follows it, where the copy of another model does",
          "the model of %v has never changed, while the model that it began as has, and a copy of "
          "another follows that"),
};

const struct tc_relation tc_consistent_models = {
    .name = "Consistent/models",
    .summary = "models that begin alike part, or follow, as others do",
    .hint = "Is each model initialised by itself, and is each target network updated?",
    .source = &tc_source_models,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
