/*
 * event_contain_sets.c - EventContain/sets: a scheduler or scaler changes a setting within its
 * first calls
 *
 * One that changes nothing is tied to an optimizer that no longer trains, or is stepped by nobody's
 * plan. Later calls say nothing: schedules rest when a warm-up is over, and when they end.
 */
#include "relation/form.h"

#include <string.h>

#include "base/banned.h"
#include "base/hash.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

#define FIRST_CALLS 3

/* Settings that are followed of one receiver. */
#define MAX_SETTINGS 64

struct setter {
    int64_t n_calls;
    tc_sym changed[MAX_SETTINGS]; /* what it has changed */
    size_t n_changed;
};

struct sets_state {
    struct tc_map setters; /* (process, receiver) → struct setter * */
};

static void *sets_open(void)
{
    return tc_calloc(1, sizeof(struct sets_state));
}

static void sets_close(void *state)
{
    struct sets_state *s = state;
    uint64_t id, pointer;

    for (size_t pos = 0; tc_map_each(&s->setters, &pos, &id, &pointer);)
        tc_free((void *)(uintptr_t)pointer);
    tc_map_release(&s->setters);
    tc_free(s);
}

static struct setter *setter_of(struct sets_state *s, const struct tc_event *event)
{
    const uint64_t who[] = {(uintptr_t)event->process,
                            (uint64_t)tc_value_int(tc_value_get(event->call->self, "id"), 0)};
    bool is_new;
    uint64_t *slot = tc_map_at(&s->setters, tc_hash64(who, sizeof(who), 0), &is_new);

    if (is_new)
        *slot = (uintptr_t)tc_calloc(1, sizeof(struct setter));
    return (struct setter *)(uintptr_t)*slot;
}

static bool has_changed(const struct setter *setter, tc_sym atom)
{
    for (size_t i = 0; i < setter->n_changed; i++)
        if (setter->changed[i] == atom)
            return true;
    return false;
}

static bool contains(const struct tc_call *call, tc_sym atom)
{
    for (size_t i = 0; i < call->contents.n; i++)
        if (call->contents.items[i] == atom)
            return true;
    return false;
}

/* "changed KIND ATTR" and "idle KIND ATTR", from the setting's "set KIND ATTR". */
static tc_sym verdict_on(struct tc_strtab *symbols, const char *verdict, tc_sym atom)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s%s", verdict, strchr(tc_strtab_text(symbols, atom), ' '));
    tc_sym sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

struct verdicts {
    tc_sym items[MAX_SETTINGS];
    size_t n;
};

static void judge(struct setter *setter, struct tc_strtab *symbols, const struct tc_call *call,
                  tc_sym atom, struct verdicts *out)
{
    const char *verdict = NULL;

    if (out->n == MAX_SETTINGS || has_changed(setter, atom))
        return;
    if (contains(call, atom))
        verdict = "changed";
    else if (setter->n_calls == FIRST_CALLS)
        verdict = "idle";
    if (!verdict || setter->n_changed == MAX_SETTINGS)
        return;
    setter->changed[setter->n_changed++] =
        atom; /* the first change and the silence are told once */
    out->items[out->n++] = verdict_on(symbols, verdict, atom);
}

static bool is_setter(const struct tc_event *event, const struct tc_strtab *symbols)
{
    if (!tc_is_subject(event) || !tc_role_has(event->call->role, TC_TRAIT_SETTER) ||
        tc_is_by_torch(symbols, event->call) || event->process->n_gaps)
        return false;
    for (const struct tc_call *c = event->call->parent; c; c = c->parent)
        if (c->role == event->call->role) /* one that is made of others */
            return false;
    return true;
}

static void sets_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct verdicts verdicts = {.n = 0};
    struct tc_situation situation;
    uint64_t serial, pointer;

    if (!is_setter(event, symbols) || !event->process->settings.n)
        return;
    struct setter *setter = setter_of(state, event);
    if (++setter->n_calls > FIRST_CALLS)
        return;
    for (size_t pos = 0; tc_map_each(&event->process->settings, &pos, &serial, &pointer);) {
        const struct tc_settings *settings = (const struct tc_settings *)(uintptr_t)pointer;
        for (size_t i = 0; i < settings->items.n; i++)
            if (settings->items.items[i].is_number)
                judge(setter, symbols, event->call, settings->items.items[i].atom, &verdicts);
    }
    if (!verdicts.n)
        return;
    tc_sym_sort(verdicts.items, verdicts.n);
    tc_situation_of_call(&situation, symbols, event->process, event->call, true);
    tc_situation_sort(&situation);
    struct tc_example example = {.key = event->call->descriptor,
                                 .situation = &situation,
                                 .outcome = verdicts.items,
                                 .n_outcome = verdicts.n};
    sink->example(sink->context, event, &example);
}

static tc_sym outcome_of(struct tc_strtab *symbols, const char *verdict,
                         const struct tc_param *param)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s %s %s", verdict, tc_strtab_text(symbols, param->name),
                   tc_strtab_text(symbols, param->attr));
    tc_sym sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

/* "changed KIND ATTR" as a parameter. */
static bool param_of(struct tc_strtab *symbols, tc_sym outcome, struct tc_param *out)
{
    const char *text = tc_strtab_text(symbols, outcome);
    const char *kind = strchr(text, ' ') + 1, *attr = strchr(kind, ' ');

    if (strncmp(text, "changed ", 8) != 0 || !attr)
        return false;
    *out = tc_param_of(TC_PARAM_CHANGE, tc_strtab_intern(symbols, kind, (size_t)(attr - kind)),
                       tc_strtab_intern_text(symbols, attr + 1), TC_SYM_CHANGED);
    return true;
}

static void sets_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                         struct tc_hypotheses *out)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            struct tc_hypothesis h = {.n_params = 2, .min_pipelines = 4, .min_support = 1};
            if (!tc_is_first(&seen, outcomes->outcome[i][j]) ||
                !param_of(symbols, outcomes->outcome[i][j], &h.params[1]))
                continue;
            h.params[0] = tc_param_call(key, TC_SYM_EMPTY);
            tc_vec_push(&out->items, h);
        }
    }
    tc_map_release(&seen);
}

static tc_sym sets_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    if (n_params != 2 || params[0].kind != TC_PARAM_CALL || params[1].kind != TC_PARAM_CHANGE)
        return TC_NO_SYM;
    return params[0].name;
}

static enum tc_outcome sets_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                  size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, outcome_of(symbols, "changed", &params[1])))
        return TC_HELD;
    return tc_outcome_has(outcome, n_outcome, outcome_of(symbols, "idle", &params[1]))
               ? TC_BROKEN
               : TC_UNDECIDED;
}

static void sets_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                          size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_addf(out, " changes %s of a %s within its first %d calls",
                   tc_strtab_text(symbols, params[1].attr), tc_strtab_text(symbols, params[1].name),
                   FIRST_CALLS);
}

static void sets_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                         const struct tc_event *event, const struct tc_example *example,
                         struct tc_strbuf *out)
{
    const struct tc_param *params = invariant->params;
    uint64_t serial, pointer;
    size_t n = 0;

    (void)example;
    for (size_t pos = 0; tc_map_each(&event->process->settings, &pos, &serial, &pointer);)
        n += ((const struct tc_settings *)(uintptr_t)pointer)->kind == params[1].name;
    tc_describe_call(symbols, params[0].name, out);
    tc_explain_receiver(event, out);
    tc_strbuf_addf(out, " was called %d times and changed %s of no %s in use: there %s %zu",
                   FIRST_CALLS, tc_strtab_text(symbols, params[1].attr),
                   tc_strtab_text(symbols, params[1].name), n == 1 ? "is" : "are", n);
}

const struct tc_source tc_source_sets = {
    .name = "sets",
    .is_set = true,
    .open = sets_open,
    .close = sets_close,
    .observe = sets_observe,
};

const struct tc_relation tc_event_contain_sets = {
    .name = "EventContain/sets",
    .summary = "a scheduler or scaler changes a setting within its first calls",
    .hint = "Was the scheduler built for another optimizer than the one that steps?",
    .source = &tc_source_sets,
    .propose = sets_propose,
    .key = sets_key,
    .holds = sets_holds,
    .describe = sets_describe,
    .explain = sets_explain,
};
