/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_owned.c - EventContain/owned: what gets a gradient in a step window belongs to an
 * optimizer
 *
 * Of a parameter that no optimizer was given nothing else speaks: it is stepped by no call. Judged
 * at the end of each step window, on every parameter that requires a gradient and has got one.
 */
#include "relation/consistent.h"

#include <string.h>

#include "base/banned.h"
#include "base/hash.h"
#include "replay/symbols.h"

/* An optimizer shows what it owns when it is first called, which may be some windows later. */
#define WINDOWS_IN_A_ROW 3

struct owned_state {
    struct tc_map owned;   /* (process, variable) that some optimizer has */
    struct tc_map streaks; /* (process, variable) → windows with a gradient and without an owner */
};

static void *owned_open(void)
{
    return tc_calloc(1, sizeof(struct owned_state));
}

static void owned_close(void *state)
{
    struct owned_state *s = state;

    tc_map_release(&s->owned);
    tc_map_release(&s->streaks);
    tc_free(s);
}

static uint64_t id_of(const struct tc_process *process, int64_t serial)
{
    const uint64_t who[] = {(uintptr_t)process, (uint64_t)serial};

    return tc_hash64(who, sizeof(who), 0);
}

static bool is_gradient(tc_sym grad)
{
    return grad != TC_SYM_GRAD_NULL && grad != TC_SYM_ZERO;
}

/* Are matrices of its model frozen? Who freezes weights may leave norms and biases as they were,
 * and means that the optimizer has all that is to train. */
static bool is_beside_frozen(const struct tc_process *process, const struct tc_variable *v)
{
    uint64_t serial, pointer;

    for (size_t pos = 0; tc_map_each(&process->variables, &pos, &serial, &pointer);) {
        const struct tc_variable *other = (const struct tc_variable *)(uintptr_t)pointer;
        if (other->kind == v->kind && other->root == v->root && other->is_matrix &&
            !other->requires_grad)
            return true;
    }
    return false;
}

/* A module clears the gradients of what it holds, whoever owns it: only an optimizer's calls tell
 * what is owned. Of a module, and of nothing else, a trace always has the mode. */
static bool tells_owner(const struct tc_call *call)
{
    return !tc_value_get(tc_value_get(call->self, "attrs"), "training");
}

/* Why it may belong to no optimizer that is known. */
static enum tc_excuse excuse_of(const struct tc_process *process, const struct tc_variable *v,
                                uint64_t streak)
{
    if (streak < WINDOWS_IN_A_ROW)
        return TC_EXCUSE_LATER_OWNER;
    if (process->n_gaps) /* it may be stepped where sampling left out */
        return TC_EXCUSE_GAP;
    if (process->hides_owners)
        return TC_EXCUSE_HIDDEN_OWNERS;
    return !v->is_matrix && is_beside_frozen(process, v) ? TC_EXCUSE_BESIDE_FROZEN : TC_EXCUSE_NONE;
}

static void judge(struct owned_state *s, struct tc_strtab *symbols, const struct tc_event *event,
                  const struct tc_variable *v, const struct tc_sink *sink)
{
    uint64_t id = id_of(event->process, v->serial), unused;
    bool is_owned = tc_map_get(&s->owned, id, &unused), is_new;
    uint64_t *streak = tc_map_at(&s->streaks, id, &is_new);
    struct tc_situation situation;

    *streak = is_owned ? 0 : *streak + 1;
    enum tc_excuse excuse = is_owned ? TC_EXCUSE_NONE : excuse_of(event->process, v, *streak);
    if (excuse) {
        tc_sink_excuse(sink, v->kind, excuse);
        return;
    }
    const tc_sym outcome[] = {TC_ATOM(symbols, TC_SYM_OWNED, tc_symbols_bool(is_owned))};
    tc_consistent_situation(&situation, v);
    struct tc_example example = {
        .key = v->kind, .situation = &situation, .outcome = outcome, .n_outcome = 1, .variable = v};
    sink->example(sink->context, event, &example);
}

static void owned_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    struct owned_state *s = state;
    uint64_t serial, pointer;

    if (event->kind == TC_EVENT_CALL && tells_owner(event->call))
        for (size_t i = 0; i < event->call->n_params; i++)
            tc_map_put(&s->owned, id_of(event->process, event->call->params[i]), 1);
    if (!tc_is_step_window(event))
        return;
    for (size_t pos = 0; tc_map_each(&event->process->variables, &pos, &serial, &pointer);) {
        const struct tc_variable *v = (const struct tc_variable *)(uintptr_t)pointer;
        if (v->kind == TC_SYM_PARAMETER && v->requires_grad && is_gradient(v->grad))
            judge(s, symbols, event, v, sink);
    }
}

static void owned_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                          struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.n_params = 1, .support = TC_SUPPORT_USAGE};

    (void)outcomes;
    (void)symbols;
    h.params[0] = tc_param_of(TC_PARAM_VARIABLE, key, TC_SYM_OWNED, TC_SYM_TRUE);
    tc_vec_push(&out->items, h);
}

static tc_sym owned_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    if (n_params != 1 || params[0].kind != TC_PARAM_VARIABLE || params[0].attr != TC_SYM_OWNED)
        return TC_NO_SYM;
    return params[0].name;
}

static enum tc_outcome owned_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                   size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)params;
    (void)n_params;
    return tc_outcome_has(outcome, n_outcome, TC_ATOM(symbols, TC_SYM_OWNED, TC_SYM_TRUE))
               ? TC_HELD
               : TC_BROKEN;
}

static void owned_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                           size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_strbuf_addf(out, "each %s that gets a gradient belongs to an optimizer",
                   tc_strtab_text(symbols, params[0].name));
}

static void owned_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                          const struct tc_event *event, const struct tc_example *example,
                          struct tc_strbuf *out)
{
    (void)invariant;
    (void)event;
    tc_strbuf_addf(out, "%s had a gradient in %d step windows, but no optimizer was given it",
                   tc_strtab_text(symbols, example->variable->name), WINDOWS_IN_A_ROW);
}

const struct tc_source tc_source_gradients = {
    .name = "gradients",
    .is_set = true,
    .open = owned_open,
    .close = owned_close,
    .observe = owned_observe,
};

const struct tc_relation tc_event_contain_owned = {
    .name = "EventContain/owned",
    .summary = "every parameter that gets a gradient in a training step belongs to an optimizer",
    .hint = "Was this parameter made, or put in place of another, after the optimizer was built?",
    .source = &tc_source_gradients,
    .propose = owned_propose,
    .key = owned_key,
    .holds = owned_holds,
    .describe = owned_describe,
    .explain = owned_explain,
};
