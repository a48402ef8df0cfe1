/* SPDX-License-Identifier: Apache-2.0 */
/*
 * violation.c - what is recorded of a broken invariant, the same in whatever order files are read
 *
 * The first breach is the least by (step, time, file, position, example), not the one that came
 * first; it alone is described. Of the others their steps, ranks, variables and runs are kept,
 * each list bounded and filled with the least. Nothing is sorted by the number of a word, as that
 * depends on the order of reading.
 */
#include "check/violation.h"

#include <stdlib.h>
#include <string.h>

#include "invariant/describe.h"
#include "replay/symbols.h"

static const char *text(struct tc_arena *arena, const struct tc_strbuf *buf)
{
    return tc_arena_text(arena, buf->text ? buf->text : "", buf->size);
}

/* The calls around the one judged, outermost first. */
static void set_inside(struct tc_violation *v, struct tc_arena *arena,
                       const struct tc_strtab *symbols, const struct tc_call *call)
{
    size_t depth = 0;

    for (const struct tc_call *c = call->parent; c; c = c->parent)
        depth++;
    v->n_inside = depth;
    v->inside = tc_arena_alloc(arena, (depth + 1) * sizeof(*v->inside));
    v->inside_at = tc_arena_alloc(arena, (depth + 1) * sizeof(*v->inside_at));
    for (const struct tc_call *c = call->parent; c; c = c->parent) {
        v->inside[--depth] = tc_strtab_text(symbols, c->descriptor);
        v->inside_at[depth] = tc_strtab_text(symbols, c->at);
    }
}

static int order_of(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_moments(const struct tc_moment *a, const struct tc_moment *b)
{
    int order = order_of((int64_t)a->run, (int64_t)b->run);

    order = order ? order : order_of(a->step, b->step);
    order = order ? order : order_of((int64_t)a->window, (int64_t)b->window);
    order = order ? order : order_of(a->unix_ns, b->unix_ns);
    order = order || a->file == b->file ? order : strcmp(a->file, b->file);
    order = order ? order : order_of((int64_t)a->order, (int64_t)b->order);
    return order ? order : order_of((int64_t)a->example, (int64_t)b->example);
}

static struct tc_moment moment_of(const struct tc_breach *breach, const struct tc_place *place)
{
    return (struct tc_moment){.run = breach->run,
                              .step = place->step,
                              .window = place->window,
                              .unix_ns = place->unix_ns,
                              .file = place->file,
                              .order = place->order,
                              .example = breach->n};
}

static struct tc_place place_of_breach(const struct tc_breach *breach)
{
    struct tc_place place;

    if (breach->example->place)
        return *breach->example->place;
    tc_place_of(breach->event, &place);
    return place;
}

static void set_place(struct tc_violation *v, const struct tc_strtab *symbols,
                      const struct tc_place *place)
{
    v->rank = place->rank;
    v->step = place->step;
    v->is_worker = place->is_worker;
    v->unix_ns = place->unix_ns;
    v->moment_ns = v->relation->fault == TC_FAULT_AT_END ? place->end_ns : place->begin_ns;
    v->file = tc_arena_text(v->arena, place->file, strlen(place->file));
    v->stage = tc_strtab_text(symbols, place->stage);
    v->at = tc_strtab_text(symbols, place->at);
    v->call = tc_strtab_text(symbols, place->call);
    v->n_before = place->n_before;
    for (unsigned i = 0; i < place->n_before; i++)
        v->before[i] =
            (struct tc_violation_call){tc_strtab_text(symbols, place->before[i].descriptor),
                                       tc_strtab_text(symbols, place->before[i].at)};
}

/* Count each name once, however often its variable comes again. */
static void count_name(struct tc_violation *v, tc_sym name)
{
    size_t word = name / 64;
    uint64_t bit = UINT64_C(1) << name % 64;

    if (word >= v->n_words) {
        size_t n_words = 2 * word + 1;
        uint64_t *names = tc_arena_zalloc(v->arena, n_words * sizeof(*names));
        if (v->n_words)
            memcpy(names, v->names, v->n_words * sizeof(*names));
        v->names = names;
        v->n_words = n_words;
    }
    v->n_names += !(v->names[word] & bit);
    v->names[word] |= bit;
}

/* The place of a variable among those listed, which stand by the moment they were first met;
 * n_variables if it is not among them. */
static size_t find_variable(const struct tc_violation *v, const char *name)
{
    size_t i = 0;

    while (i < v->n_variables && strcmp(v->variables[i].name, name) != 0)
        i++;
    return i;
}

static void set_attrs(struct tc_violation *v, const struct tc_strtab *symbols,
                      const struct tc_variable *variable, struct tc_violation_variable *out)
{
    out->attrs = tc_arena_alloc(v->arena, (variable->n_attrs + 1) * sizeof(*out->attrs));
    for (size_t i = 0; i < variable->n_attrs; i++)
        if (variable->attrs[i].value == TC_SYM_TRUE)
            out->attrs[out->n_attrs++] =
                tc_strtab_text(symbols, variable->attrs[i].field) + strlen("v.attr.");
}

/* Keep those that were met first: the list is the same in whatever order they come. */
static void add_variable(struct tc_violation *v, const struct tc_strtab *symbols,
                         const struct tc_variable *variable, const struct tc_moment *met)
{
    const char *name = tc_strtab_text(symbols, variable->name);
    size_t at = find_variable(v, name), i;

    if (at < v->n_variables && compare_moments(&v->variables[at].met, met) <= 0)
        return;
    count_name(v, variable->name);
    if (at == TC_VIOLATION_VARIABLES && compare_moments(&v->variables[at - 1].met, met) <= 0)
        at = SIZE_MAX;
    else if (at == TC_VIOLATION_VARIABLES)
        at--;
    else if (at == v->n_variables)
        v->n_variables++;
    v->n_more_variables = v->n_names - v->n_variables;
    if (at == SIZE_MAX)
        return;
    for (i = at; i > 0 && compare_moments(&v->variables[i - 1].met, met) > 0; i--)
        v->variables[i] = v->variables[i - 1];
    v->variables[i] =
        (struct tc_violation_variable){.name = name,
                                       .kind = tc_strtab_text(symbols, variable->kind),
                                       .grad = tc_strtab_text(symbols, variable->grad),
                                       .dtype = tc_strtab_text(symbols, variable->dtype),
                                       .shape = tc_strtab_text(symbols, variable->shape),
                                       .owner = tc_strtab_text(symbols, variable->owner),
                                       .training = tc_strtab_text(symbols, variable->training),
                                       .requires_grad = variable->requires_grad,
                                       .is_setting = variable->is_setting,
                                       .met = *met};
    set_attrs(v, symbols, variable, &v->variables[i]);
}

static void count_concerned(struct tc_violation *v, const struct tc_variable *variable)
{
    if (variable->is_setting)
        return;
    v->n_concerned++;
    v->n_frozen += !variable->requires_grad;
    v->n_without_grad += variable->grad == TC_SYM_GRAD_NULL;
}

/* Of a call that owns none: those of the kind that its change is about. */
static void set_known(struct tc_violation *v, const struct tc_strtab *symbols,
                      const struct tc_event *event)
{
    const struct tc_invariant *x = v->invariant;
    struct tc_moment met = v->first;
    uint64_t serial, pointer;

    if (x->n_params < 2 || x->params[1].kind != TC_PARAM_CHANGE)
        return;
    for (size_t pos = 0; tc_map_each(&event->process->variables, &pos, &serial, &pointer);) {
        const struct tc_variable *variable = (const struct tc_variable *)(uintptr_t)pointer;
        if (variable->kind != x->params[1].name)
            continue;
        met.example = serial;
        count_concerned(v, variable);
        add_variable(v, symbols, variable, &met);
    }
}

/* Those that the call owns; they are those of the first moment. */
static void set_owned(struct tc_violation *v, const struct tc_strtab *symbols,
                      const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    struct tc_moment met = v->first;

    if (v->n_words)
        memset(v->names, 0, v->n_words * sizeof(*v->names));
    v->n_variables = v->n_more_variables = v->n_names = 0;
    for (size_t i = 0; call && i < call->n_params; i++) {
        const struct tc_variable *variable = tc_process_variable(event->process, call->params[i]);
        met.example = i;
        if (!variable)
            continue;
        count_concerned(v, variable);
        add_variable(v, symbols, variable, &met);
    }
    if (call && !call->n_params)
        set_known(v, symbols, event);
}

static void set_seen(struct tc_violation *v, struct tc_strtab *symbols,
                     const struct tc_breach *breach)
{
    struct tc_strbuf seen = TC_STRBUF_INIT;

    tc_relation_explain(v->relation, symbols, v->invariant, breach->event, breach->example, &seen);
    v->seen = text(v->arena, &seen);
    tc_strbuf_release(&seen);
}

/* Keep the least `max` distinct numbers that are known, in order: they may come in any. */
static void add_least(int64_t *items, size_t *n, size_t max, int64_t item)
{
    size_t i = *n;

    while (i && items[i - 1] > item)
        i--;
    if (item < 0 || i == max || (i && items[i - 1] == item))
        return;
    if (*n < max)
        ++*n;
    memmove(&items[i + 1], &items[i], (*n - 1 - i) * sizeof(*items));
    items[i] = item;
}

static void add_place(struct tc_violation *v, const struct tc_place *place)
{
    if (place->step > v->last_step)
        v->last_step = place->step;
    tc_step_spread_add(&v->spread, place->step);
    add_least(v->steps, &v->n_steps, TC_VIOLATION_STEPS, place->step);
    add_least(v->ranks, &v->n_ranks, TC_VIOLATION_RANKS, place->rank);
}

static int compare_fields(const void *a, const void *b, void *symbols)
{
    return tc_compare_symbols(&((const struct tc_pair *)a)->field,
                              &((const struct tc_pair *)b)->field, symbols);
}

/* In the order of the words: that of their numbers depends on which file was read first. */
static void set_example(struct tc_violation *v, struct tc_strtab *symbols,
                        const struct tc_example *example)
{
    const struct tc_situation *s = example->situation;
    size_t n = example->n_outcome;
    struct tc_pair *pairs = tc_arena_copy(v->arena, s->pairs, s->n * sizeof(*s->pairs));
    tc_sym *words = tc_malloc((n + 1) * sizeof(*words));

    qsort_r(pairs, s->n, sizeof(*pairs), compare_fields, symbols);
    v->n_situation = s->n;
    v->situation = pairs;
    for (size_t i = 0; i < n; i++)
        words[i] = example->outcome[i];
    if (v->relation->source->is_set)
        qsort_r(words, n, sizeof(*words), tc_compare_symbols, symbols);
    v->n_outcome = n;
    n = n < TC_VIOLATION_OUTCOME ? n : TC_VIOLATION_OUTCOME;
    v->outcome = tc_arena_copy(v->arena, words, n * sizeof(*words));
    tc_free(words);
}

/* Traces are read one after the other. */
static void add_run(struct tc_violation *v, const struct tc_breach *breach)
{
    if (v->n_runs && v->last_run == breach->run)
        return;
    if (v->n_runs < TC_VIOLATION_RUNS)
        v->runs[v->n_runs] = breach->trace;
    v->n_runs++;
    v->last_run = breach->run;
}

/* Tell of this breach. */
static void set_first(struct tc_violation *v, struct tc_strtab *symbols,
                      const struct tc_breach *breach, const struct tc_place *place)
{
    v->first = moment_of(breach, place);
    v->trace = breach->trace;
    set_place(v, symbols, place);
    v->first.file = v->file;
    v->n_inside = 0;
    if (breach->event->call && !breach->example->place)
        set_inside(v, v->arena, symbols, breach->event->call);
    v->key = breach->example->key;
    v->cause = breach->example->cause;
    v->is_setting =
        v->relation->is_setting && v->relation->is_setting(symbols, v->invariant, breach->example);
    set_seen(v, symbols, breach);
    set_example(v, symbols, breach->example);
    v->n_concerned = v->n_frozen = v->n_without_grad = 0;
    if (breach->example->variable)
        count_concerned(v, breach->example->variable);
    else if (!breach->example->place && !tc_invariant_fact(v->invariant))
        set_owned(v, symbols, breach->event);
    v->hint = tc_violation_hint(v, symbols);
}

struct tc_violation *tc_violation_new(struct tc_arena *arena, struct tc_strtab *symbols,
                                      const struct tc_invariant *invariant,
                                      const struct tc_relation *relation,
                                      const struct tc_breach *breach)
{
    struct tc_violation *v = tc_arena_zalloc(arena, sizeof(*v));
    const struct tc_place place = place_of_breach(breach);

    v->arena = arena;
    v->invariant = invariant;
    v->relation = relation;
    set_first(v, symbols, breach, &place);
    if (breach->example->variable)
        add_variable(v, symbols, breach->example->variable, &v->first);
    v->count = tc_example_times(breach->example);
    v->last_step = -1;
    add_run(v, breach);
    add_place(v, &place);
    return v;
}

void tc_violation_repeat(struct tc_violation *v, struct tc_strtab *symbols,
                         const struct tc_breach *breach)
{
    const struct tc_place place = place_of_breach(breach);
    const struct tc_moment moment = moment_of(breach, &place);

    v->count += tc_example_times(breach->example);
    add_run(v, breach);
    add_place(v, &place);
    if (compare_moments(&moment, &v->first) < 0)
        set_first(v, symbols, breach, &place);
    if (breach->example->variable)
        add_variable(v, symbols, breach->example->variable, &moment);
}

int tc_violation_compare(const struct tc_violation *a, const struct tc_violation *b)
{
    int order = order_of(a->step, b->step);

    order = order ? order : order_of(a->moment_ns, b->moment_ns);
    order = order ? order : compare_moments(&a->first, &b->first);
    return order ? order : strcmp(a->invariant->id, b->invariant->id);
}
