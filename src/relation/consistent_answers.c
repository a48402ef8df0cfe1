/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_answers.c - Consistent/answers: a model that answers follows the one that is trained
 *
 * Answers are drawn from a copy of the model that is trained, which gets its weights from time to
 * time. A copy that never gets any answers as the model did when training began, and the model
 * does not learn from its own answers. So does a copy that gets a part of them.
 *
 * A model is a root with two matrices or more. It answers if the script draws, three times or
 * more, from the result of a forward without gradients. A copy began with the same matrices, and
 * nothing steps it. A trained model has changed by ten steps or more. There is an example for
 * each copy that answers, when the run is over. It is broken if the copy has never changed and
 * nobody draws from a model that is trained: a script that compares a model with its beginning
 * draws from both.
 *
 * The copy may answer in a process of its own, in which nothing trains. There it may be meant to
 * stay as it is. So its process must have been handed weights three times since the model is
 * trained, as by a load, or by a message of the size of a matrix or of all of them; and all of its
 * weights were read again after that.
 *
 * There is an example, too, for each copy that took matrices of the trained model as they were
 * after a step. It is broken where one that calls were given to compute with never changed, and
 * the trained one had changed when the others were taken.
 */
#include "relation/consistent.h"
#include "relation/third_time.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

#define MIN_MATRICES 2
#define MIN_STEPS    10
#define MAX_CONTENTS 65536
#define MAX_MODELS   256 /* of a process */

/* The draws from one root. */
struct answers {
    uint64_t n, n_graphless;
    int64_t last;          /* by the wall clock */
    struct tc_place place; /* of the first */
};

/* When something was handed to a process, by the wall clock, latest first. */
struct handed {
    int64_t times[TC_THIRD_TIME];
    int64_t read[TC_THIRD_TIME]; /* those before all weights were read */
    int64_t looked_t;            /* ... which was then */
};

/* Of one process. */
struct answering {
    const struct tc_process *process;
    struct tc_map roots; /* serial → struct answers * */
    int64_t asked;       /* the root that was asked last; 0: none */
    bool is_graphless;   /* without gradients */
    uint64_t n_steps;
    int64_t trained_at;   /* when it had made enough steps, by the wall clock; 0: it has not */
    struct tc_map handed; /* elements of a message → struct handed *; 0: a load */
    struct tc_map used;   /* weights that a call was given without gradients */
    struct tc_map
        contents; /* digest of a matrix that is trained → 1 + window in which it was seen */
    struct tc_map moved; /* matrix that is trained → 1 + window in which it first changed */
};

/* A model of a process, at the end of the run. */
struct found {
    const struct answering *of;
    int64_t root;
    size_t prefix;        /* of the names of all its matrices */
    const char *name;     /* of the first */
    uint64_t first, last; /* sums of digests of its matrices, with their names */
    size_t n;             /* of these */
    bool is_trained;
    const struct tc_variable *matrix; /* the one of the lowest serial */
};

struct models {
    TC_VEC(struct found) items;
};

static void answering_release(void *of_process)
{
    struct answering *answering = of_process;

    tc_map_release_structs(&answering->roots);
    tc_map_release_structs(&answering->handed);
    tc_map_release(&answering->used);
    tc_map_release(&answering->contents);
    tc_map_release(&answering->moved);
}

/* ---- looking -------------------------------------------------------------------------------- */

static int64_t wall_time(const struct tc_event *event)
{
    return tc_process_wall_time(event->process, event->call->end_t);
}

static void note_handed(struct answering *answering, uint64_t elements, int64_t time)
{
    struct handed *handed = tc_map_struct(&answering->handed, elements, sizeof(*handed));

    if (handed->looked_t != answering->process->looked_t)
        memcpy(handed->read, handed->times, sizeof(handed->read));
    handed->looked_t = answering->process->looked_t;
    memmove(handed->times + 1, handed->times, sizeof(handed->times) - sizeof(*handed->times));
    handed->times[0] = time;
}

/* What comes from another process, or from a file, once the script has drawn. */
static void on_message(struct answering *answering, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *tensor = tc_call_next_tensor(call, &(uint32_t){0});

    if (call->role == TC_ROLE_LOAD)
        note_handed(answering, 0, wall_time(event));
    else if (tensor && tc_value_get(call->args, "src"))
        note_handed(answering, tc_count_elements(tc_value_get(tensor, "shape")), wall_time(event));
}

static void on_call(struct answering *answering, const struct tc_strtab *symbols,
                    const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *weight;
    struct answers *answers;

    if (call->is_root) {
        answering->asked = tc_serial_of(call->self);
        answering->is_graphless = tc_value_get(call->ctx, "grad") != NULL;
    }
    if (answering->roots.n && (weight = tc_value_get(call->args, "weight")))
        tc_map_put(&answering->used, (uint64_t)tc_serial_of(weight), 1);
    if (answering->roots.n)
        on_message(answering, event);
    if (call->is_root || answering->asked <= 0 || !tc_is_draw(symbols, call))
        return;
    answers = tc_map_struct(&answering->roots, (uint64_t)answering->asked, sizeof(*answers));
    if (!answers->n++)
        tc_place_of(event, &answers->place);
    answers->n_graphless += answering->is_graphless;
    answers->last = wall_time(event);
}

/* A trained matrix is another one. */
static void on_change(struct answering *answering, const struct tc_event *event)
{
    const struct tc_variable *v = event->variable;
    const uint64_t window = 1 + event->window->number;
    bool is_new;

    if (v->stepped < 0 || !tc_is_told_matrix(v))
        return;
    tc_map_remember(&answering->contents, MAX_CONTENTS, v->data, window);
    uint64_t *first = tc_map_at(&answering->moved, (uint64_t)v->serial, &is_new);
    *first = is_new ? window : *first;
}

static void on_window(struct answering *answering, const struct tc_event *event)
{
    answering->n_steps += event->window->has_step;
    if (event->window->has_step && answering->n_steps == MIN_STEPS)
        answering->trained_at = tc_process_wall_time(event->process, event->window->t);
}

/* ---- models --------------------------------------------------------------------------------- */

/* What two names have in common, up to a dot. */
static size_t common_prefix(const char *a, const char *b, size_t most)
{
    size_t n = 0, i = 0;

    for (; i < most && a[i] && a[i] == b[i]; i++)
        if (a[i] == '.')
            n = i + 1;
    return n;
}

static struct found *model_at(struct models *models, const struct answering *of, int64_t root)
{
    size_t i = models->items.n;

    while (i && models->items.items[i - 1].of == of && models->items.items[i - 1].root != root)
        i--;
    return i && models->items.items[i - 1].of == of ? &models->items.items[i - 1] : NULL;
}

/* A wrapper of a model stands before all of its names. */
static void find_names(struct models *models, const struct answering *of,
                       const struct tc_strtab *symbols)
{
    const size_t most = models->items.n + MAX_MODELS;
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&of->process->variables, &pos));) {
        const char *name = tc_strtab_text(symbols, v->name);
        struct found *model = tc_is_told_matrix(v) ? model_at(models, of, v->root) : NULL;
        if (model)
            model->prefix = common_prefix(model->name, name, model->prefix);
        else if (tc_is_told_matrix(v) && models->items.n < most)
            tc_vec_push(
                &models->items,
                ((struct found){.of = of, .root = v->root, .name = name, .prefix = strlen(name)}));
    }
}

/* Its name in the model, as a number. */
static uint64_t name_of(const struct found *model, const struct tc_strtab *symbols,
                        const struct tc_variable *v)
{
    const char *name = tc_strtab_text(symbols, v->name) + model->prefix;

    return tc_hash64(name, strlen(name), 0);
}

static void find_models(struct models *models, const struct answering *of,
                        const struct tc_strtab *symbols)
{
    const struct tc_variable *v;

    find_names(models, of, symbols);
    for (size_t pos = 0; (v = tc_map_next(&of->process->variables, &pos));) {
        struct found *model = tc_is_told_matrix(v) ? model_at(models, of, v->root) : NULL;
        if (!model)
            continue;
        const uint64_t name = name_of(model, symbols, v);
        model->n++;
        model->first += tc_hash_mix(name, v->first_data, 0);
        model->last += tc_hash_mix(name, v->data, 0);
        model->is_trained |= v->stepped >= 0;
        if (!model->matrix || v->serial < model->matrix->serial)
            model->matrix = v;
    }
}

/* ---- judging -------------------------------------------------------------------------------- */

static const struct answers *answers_of(const struct found *model)
{
    return tc_map_find(&model->of->roots, (uint64_t)model->root);
}

/* Where nothing trains, a forward needs no context to have no gradients. */
static uint64_t n_answers(const struct found *model)
{
    const struct answers *answers = answers_of(model);

    return !answers ? 0 : model->of->n_steps ? answers->n_graphless : answers->n;
}

static bool has_changed(const struct found *model)
{
    return model->last != model->first;
}

/* Did it begin as that one, which is trained? */
static bool is_copy_of(const struct found *model, const struct found *trained)
{
    return trained->is_trained && trained->of->n_steps >= MIN_STEPS && has_changed(trained) &&
           trained->n == model->n && trained->first == model->first;
}

static bool was_handed(const struct answering *answering, uint64_t elements, int64_t since)
{
    const struct handed *handed = tc_map_find(&answering->handed, elements);

    if (!handed)
        return false;
    const int64_t *times =
        handed->looked_t == answering->process->looked_t ? handed->read : handed->times;
    return times[TC_THIRD_TIME - 1] > since;
}

/* Of "[64,10]". */
static uint64_t n_elements(const struct tc_strtab *symbols, tc_sym shape)
{
    uint64_t n = 1, size = 0;

    for (const char *text = tc_strtab_text(symbols, shape); *text; text++) {
        size = *text >= '0' && *text <= '9' ? size * 10 + (uint64_t)(*text - '0') : size;
        if (*text == ',' || *text == ']') {
            n *= size;
            size = 0;
        }
    }
    return n;
}

/* Was its process handed weights in vain, since the model is trained? */
static bool is_left_behind(const struct found *model, const struct found *trained,
                           const struct tc_strtab *symbols)
{
    const struct answering *of = model->of;
    const int64_t since = trained->of->trained_at;
    const struct tc_variable *v;
    uint64_t n, n_all = 0;
    bool is_handed = false;

    if (of->n_steps || !since || answers_of(model)->last < since ||
        of->process->looked_t == TC_NONE || of->process->has_failed)
        return false;
    for (size_t pos = 0; (v = tc_map_next(&of->process->variables, &pos));) {
        if (v->root != model->root || v->kind != TC_SYM_PARAMETER)
            continue;
        n_all += n = n_elements(symbols, v->shape);
        is_handed |= v->is_matrix && was_handed(of, n, since);
    }
    return is_handed || was_handed(of, n_all, since) || was_handed(of, 0, since);
}

static void tell(const struct found *model, tc_sym key, bool follows,
                 const struct tc_variable *matrix, const struct tc_event *event,
                 const struct tc_sink *sink)
{
    const tc_sym outcome = follows ? TC_SYM_CHANGED : TC_SYM_UNCHANGED;
    const struct tc_example example = {.key = key,
                                       .situation = &tc_no_situation,
                                       .outcome = &outcome,
                                       .n_outcome = 1,
                                       .variable = matrix,
                                       .place = &answers_of(model)->place};

    sink->example(sink->context, event, &example);
}

/* Are answers drawn from that one, which is trained or no copy of its beginning? In the process of
 * the model, only what is trained counts. */
static bool is_answered_by(const struct found *other, const struct found *model)
{
    if (!n_answers(other))
        return false;
    return other->is_trained || (other->of != model->of && other->n == model->n &&
                                 (has_changed(other) || other->first != model->first));
}

static void judge_model(const struct models *models, const struct found *model,
                        const struct tc_strtab *symbols, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    bool is_copy = false, is_answered = false;

    for (size_t i = 0; i < models->items.n; i++) {
        const struct found *other = &models->items.items[i];
        const bool is_near = other->of == model->of;
        is_copy |= is_copy_of(model, other) &&
                   (is_near || has_changed(model) || is_left_behind(model, other, symbols));
        is_answered |= is_answered_by(other, model) && (is_near || !model->of->n_steps);
    }
    if (is_copy && (has_changed(model) || !is_answered))
        tell(model, TC_SYM_DRAWN, has_changed(model), model->matrix, event, sink);
}

/* ---- in part -------------------------------------------------------------------------------- */

/* Of the trained model, by name. */
static void find_partners(const struct found *trained, const struct tc_strtab *symbols,
                          struct tc_map *partners)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&trained->of->process->variables, &pos));)
        if (v->root == trained->root && tc_is_told_matrix(v))
            tc_map_put(partners, name_of(trained, symbols, v), (uintptr_t)v);
}

/* The window of the trained process in which it had what the copy has now; 0: it is not known. */
static uint64_t taken_from(const struct found *trained, const struct tc_variable *v)
{
    uint64_t window = 0;

    if (v->data != v->first_data)
        tc_map_get(&trained->of->contents, v->data, &window);
    return window;
}

/* Did the trained one change before that window, and this one, with which calls compute, not? */
static bool is_missed(const struct found *model, const struct found *trained,
                      const struct tc_variable *v, const struct tc_variable *partner,
                      uint64_t window)
{
    uint64_t moved, used;

    return partner && v->data == v->first_data && partner->data != partner->first_data &&
           tc_map_get(&model->of->used, (uint64_t)v->serial, &used) &&
           tc_map_get(&trained->of->moved, (uint64_t)partner->serial, &moved) && moved <= window;
}

/* The first of the matrices that it missed; NULL: none. */
static const struct tc_variable *find_missed(const struct found *model, const struct found *trained,
                                             const struct tc_strtab *symbols, uint64_t window)
{
    struct tc_map partners = TC_MAP_INIT;
    const struct tc_variable *v, *missed = NULL;

    find_partners(trained, symbols, &partners);
    for (size_t pos = 0; (v = tc_map_next(&model->of->process->variables, &pos));)
        if (v->root == model->root && tc_is_told_matrix(v) &&
            is_missed(model, trained, v, tc_map_find(&partners, name_of(model, symbols, v)),
                      window) &&
            (!missed || v->serial < missed->serial))
            missed = v;
    tc_map_release(&partners);
    return missed;
}

/* The last window of the trained process from which the copy has something; 0: there is none. */
static uint64_t last_taken(const struct found *model, const struct found *trained)
{
    const struct tc_variable *v;
    uint64_t last = 0;

    for (size_t pos = 0; (v = tc_map_next(&model->of->process->variables, &pos));)
        if (v->root == model->root && tc_is_told_matrix(v) && taken_from(trained, v) > last)
            last = taken_from(trained, v);
    return last;
}

static void judge_parts(const struct models *models, const struct found *model,
                        const struct tc_strtab *symbols, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    const struct tc_variable *missed = NULL, *v;
    bool is_taken = false;

    for (size_t i = 0; i < models->items.n; i++) {
        const struct found *trained = &models->items.items[i];
        const uint64_t window = is_copy_of(model, trained) ? last_taken(model, trained) : 0;
        v = window ? find_missed(model, trained, symbols, window) : NULL;
        is_taken |= window != 0;
        missed = v && (!missed || v->serial < missed->serial) ? v : missed;
    }
    if (is_taken)
        tell(model, TC_SYM_WHOLE, !missed, missed ? missed : model->matrix, event, sink);
}

static void on_finish(struct tc_process_states *states, const struct tc_strtab *symbols,
                      const struct tc_event *event, const struct tc_sink *sink)
{
    struct models models = {.items = {0}};
    const struct answering *answering;
    bool is_asked = false;

    for (size_t pos = 0; (answering = tc_map_next(&states->items, &pos));)
        is_asked |= answering->roots.n != 0;
    for (size_t pos = 0; is_asked && (answering = tc_map_next(&states->items, &pos));)
        find_models(&models, answering, symbols);
    for (size_t i = 0; i < models.items.n; i++) {
        const struct found *model = &models.items.items[i];
        if (model->is_trained || model->n < MIN_MATRICES || n_answers(model) < TC_THIRD_TIME)
            continue;
        judge_model(&models, model, symbols, event, sink);
        judge_parts(&models, model, symbols, event, sink);
    }
    tc_vec_release(&models.items);
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
        on_window(answering, event);
    else if (event->kind == TC_EVENT_CHANGE)
        on_change(answering, event);
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
    {.key = {TC_SYM_WHOLE},
     .kind = TC_SYM_PARAMETER,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_DATA,
     .to = TC_SYM_WHOLE,
     .held = {TC_SYM_CHANGED},
     .broken = {TC_SYM_UNCHANGED},
     .if_met = true,
     .support = TC_SUPPORT_RULE,
     .expected = "a copy from which answers are drawn, and that takes matrices of the model that "
                 "is trained, takes all that it computes with",                               .seen = "the model from which answers were drawn took other matrices of the one that is "
             "trained, and %v never changed"                                   },
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
