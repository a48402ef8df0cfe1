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

/* 0 when unknown, and also where a trace names a time beyond all clocks. */
static int64_t wall_time(const struct tc_process *process, int64_t t)
{
    int64_t sum;

    if (!process->unix_ns || __builtin_add_overflow(process->unix_ns, t, &sum))
        return 0;
    return sum;
}

static void set_place_of_call(struct tc_violation *v, struct tc_arena *arena,
                              const struct tc_strtab *symbols, const struct tc_event *event)
{
    const struct tc_call *call = event->call, *top = call;

    while (top->parent && top->at == TC_SYM_EMPTY)
        top = top->parent;
    v->step = call->step;
    v->window = call->window;
    v->stage = tc_strtab_text(symbols, call->stage);
    v->at = tc_strtab_text(symbols, top->at);
    v->call = tc_strtab_text(symbols, call->descriptor);
    v->unix_ns = wall_time(event->process, call->end_t);
    set_inside(v, arena, symbols, call);
}

/* A window has no line of its own: that of its optimizer step is where the reader looks. */
static void set_place_of_window(struct tc_violation *v, const struct tc_strtab *symbols,
                                const struct tc_event *event)
{
    const struct tc_window *window = event->window;

    v->step = window->step;
    v->window = window->number;
    v->stage = tc_strtab_text(symbols, window->stage);
    v->at = "";
    v->call = "";
    v->unix_ns = wall_time(event->process, window->t);
    for (size_t i = 0; i < window->members.n; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        if (!member->is_void && (member->role == TC_ROLE_STEP || !*v->at))
            v->at = tc_strtab_text(symbols, member->at);
    }
}

static bool is_listed(const struct tc_violation *v, const char *name)
{
    for (size_t i = 0; i < v->n_variables; i++)
        if (!strcmp(v->variables[i].name, name))
            return true;
    return false;
}

/* Count each name once, however often its variable comes again. */
static void count_more(struct tc_violation *v, tc_sym name)
{
    size_t word = name / 64;
    uint64_t bit = UINT64_C(1) << name % 64;

    if (word >= v->more_words) {
        size_t words = 2 * word + 1;
        uint64_t *names = tc_arena_zalloc(v->arena, words * sizeof(*names));
        if (v->more_words)
            memcpy(names, v->more_names, v->more_words * sizeof(*names));
        v->more_names = names;
        v->more_words = words;
    }
    v->n_more_variables += !(v->more_names[word] & bit);
    v->more_names[word] |= bit;
}

static void add_variable(struct tc_violation *v, const struct tc_strtab *symbols,
                         const struct tc_variable *variable)
{
    const char *name = tc_strtab_text(symbols, variable->name);

    if (is_listed(v, name))
        return;
    if (v->n_variables == TC_VIOLATION_VARIABLES) {
        count_more(v, variable->name);
        return;
    }
    v->variables[v->n_variables++] =
        (struct tc_violation_variable){.name = name,
                                       .kind = tc_strtab_text(symbols, variable->kind),
                                       .grad = tc_strtab_text(symbols, variable->grad),
                                       .dtype = tc_strtab_text(symbols, variable->dtype),
                                       .shape = tc_strtab_text(symbols, variable->shape),
                                       .owner = tc_strtab_text(symbols, variable->owner),
                                       .requires_grad = variable->requires_grad};
}

static void add_variables(struct tc_violation *v, const struct tc_strtab *symbols,
                          const struct tc_event *event, const struct tc_example *example)
{
    const struct tc_call *call = event->call;

    if (example->variable) {
        add_variable(v, symbols, example->variable);
        return;
    }
    for (size_t i = 0; call && i < call->n_params; i++) {
        const struct tc_variable *variable = tc_process_variable(event->process, call->params[i]);
        if (variable)
            add_variable(v, symbols, variable);
    }
}

static void set_seen(struct tc_violation *v, struct tc_arena *arena, struct tc_strtab *symbols,
                     const struct tc_event *event, const struct tc_example *example)
{
    struct tc_strbuf seen = TC_STRBUF_INIT;

    v->relation->explain(symbols, v->invariant, event, example, &seen);
    v->seen = text(arena, &seen);
    tc_strbuf_release(&seen);
}

/* Ranks and runs come in any order: a step may come again, or after a later one. */
static void add_step(struct tc_violation *v, int64_t step)
{
    size_t i = 0;

    while (i < v->n_steps && v->steps[i] != step)
        i++;
    if (i == v->n_steps && i < TC_VIOLATION_STEPS && step >= 0)
        v->steps[v->n_steps++] = step;
    if (step > v->last_step)
        v->last_step = step;
}

struct tc_violation *tc_violation_new(struct tc_arena *arena, struct tc_strtab *symbols,
                                      const struct tc_invariant *invariant,
                                      const struct tc_relation *relation,
                                      const struct tc_event *event,
                                      const struct tc_example *example,
                                      const struct tc_recent *recent, const char *trace)
{
    struct tc_violation *v = tc_arena_zalloc(arena, sizeof(*v));

    v->arena = arena;
    v->invariant = invariant;
    v->relation = relation;
    v->order = event->order;
    v->rank = event->process->rank;
    v->trace = trace;
    v->file = tc_arena_text(arena, event->process->file, strlen(event->process->file));
    if (event->call)
        set_place_of_call(v, arena, symbols, event);
    else
        set_place_of_window(v, symbols, event);
    memcpy(v->before, recent->calls, sizeof(v->before));
    v->n_before = recent->n;
    set_seen(v, arena, symbols, event, example);
    add_variables(v, symbols, event, example);
    v->count = 1;
    v->last_step = -1;
    add_step(v, v->step);
    return v;
}

void tc_violation_repeat(struct tc_violation *v, const struct tc_strtab *symbols,
                         const struct tc_event *event, const struct tc_example *example)
{
    v->count++;
    add_step(v, event->call ? event->call->step : event->window->step);
    if (example->variable)
        add_variable(v, symbols, example->variable);
}

static int order_of(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

int tc_violation_compare(const struct tc_violation *a, const struct tc_violation *b)
{
    int order = order_of(a->step, b->step);

    order = order ? order : order_of((int64_t)a->window, (int64_t)b->window);
    order = order ? order : order_of(*a->call != '\0', *b->call != '\0');
    order = order ? order : order_of((int64_t)a->order, (int64_t)b->order);
    return order ? order : strcmp(a->invariant->id, b->invariant->id);
}
