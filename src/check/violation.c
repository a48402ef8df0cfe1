#include "check/violation.h"

#include <string.h>

#include "base/banned.h"
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
    for (const struct tc_call *c = call->parent; c; c = c->parent)
        v->inside[--depth] = tc_strtab_text(symbols, c->descriptor);
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

static struct tc_place place_of(const struct tc_breach *breach)
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
    v->window = place->window;
    v->unix_ns = place->unix_ns;
    v->file = tc_arena_text(v->arena, place->file, strlen(place->file));
    v->stage = tc_strtab_text(symbols, place->stage);
    v->at = tc_strtab_text(symbols, place->at);
    v->call = tc_strtab_text(symbols, place->call);
    v->n_before = place->n_before;
    for (unsigned i = 0; i < place->n_before; i++)
        v->before[i] = tc_strtab_text(symbols, place->before[i]);
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
                                       .requires_grad = variable->requires_grad,
                                       .met = *met};
}

/* Those that the call owns; they are told of the first moment alone. */
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
        if (variable)
            add_variable(v, symbols, variable, &met);
    }
}

static void set_seen(struct tc_violation *v, struct tc_strtab *symbols,
                     const struct tc_breach *breach)
{
    struct tc_strbuf seen = TC_STRBUF_INIT;

    v->relation->explain(symbols, v->invariant, breach->event, breach->example, &seen);
    v->seen = text(v->arena, &seen);
    tc_strbuf_release(&seen);
}

/* Ranks and runs come in any order: keep the first steps, in order. */
static void add_step(struct tc_violation *v, int64_t step)
{
    size_t i = v->n_steps;

    if (step > v->last_step)
        v->last_step = step;
    while (i && v->steps[i - 1] > step)
        i--;
    if (step < 0 || i == TC_VIOLATION_STEPS || (i && v->steps[i - 1] == step))
        return;
    if (v->n_steps < TC_VIOLATION_STEPS)
        v->n_steps++;
    memmove(&v->steps[i + 1], &v->steps[i], (v->n_steps - 1 - i) * sizeof(*v->steps));
    v->steps[i] = step;
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
    set_seen(v, symbols, breach);
    if (!breach->example->variable && !breach->example->place)
        set_owned(v, symbols, breach->event);
}

struct tc_violation *tc_violation_new(struct tc_arena *arena, struct tc_strtab *symbols,
                                      const struct tc_invariant *invariant,
                                      const struct tc_relation *relation,
                                      const struct tc_breach *breach)
{
    struct tc_violation *v = tc_arena_zalloc(arena, sizeof(*v));
    const struct tc_place place = place_of(breach);

    v->arena = arena;
    v->invariant = invariant;
    v->relation = relation;
    set_first(v, symbols, breach, &place);
    if (breach->example->variable)
        add_variable(v, symbols, breach->example->variable, &v->first);
    v->count = 1;
    v->last_step = -1;
    add_step(v, v->step);
    return v;
}

void tc_violation_repeat(struct tc_violation *v, struct tc_strtab *symbols,
                         const struct tc_breach *breach)
{
    const struct tc_place place = place_of(breach);
    const struct tc_moment moment = moment_of(breach, &place);

    v->count++;
    add_step(v, place.step);
    if (compare_moments(&moment, &v->first) < 0)
        set_first(v, symbols, breach, &place);
    if (breach->example->variable)
        add_variable(v, symbols, breach->example->variable, &moment);
}

int tc_violation_compare(const struct tc_violation *a, const struct tc_violation *b)
{
    int order = order_of(a->step, b->step);

    order = order ? order : order_of((int64_t)a->window, (int64_t)b->window);
    order = order ? order : order_of(*a->call != '\0', *b->call != '\0');
    order = order ? order : compare_moments(&a->first, &b->first);
    return order ? order : strcmp(a->invariant->id, b->invariant->id);
}
