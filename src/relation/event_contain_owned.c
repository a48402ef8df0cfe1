/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_owned.c - EventContain/owned: what gets a gradient in a step window belongs to an
 * optimizer
 *
 * Of a parameter that no optimizer was given nothing else speaks: it is stepped by no call. Judged
 * at the end of each step window, on every parameter that requires a gradient and has got one.
 */
#include "relation/claims.h"
#include "relation/consistent.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

/* An optimizer shows what it owns when it is first called, which may be some windows later. Who
 * freezes for fewer only keeps a gradient away, as from a discriminator. */
#define WINDOWS_IN_A_ROW 3

struct owned_state {
    struct tc_map owned;   /* (process, variable) that some optimizer has */
    struct tc_map streaks; /* (process, variable) → windows with a gradient and without an owner */
    struct tc_map written; /* (process, variable) that the script wrote to since it was judged */
    struct tc_map frozen;  /* (process, norm or bias) → windows in a row, at most so many */
    struct tc_map asked;   /* (process, root) → the last step in which it ran with gradients */
};

static void owned_release(void *state)
{
    struct owned_state *s = state;

    tc_map_release(&s->owned);
    tc_map_release(&s->streaks);
    tc_map_release(&s->written);
    tc_map_release(&s->frozen);
    tc_map_release(&s->asked);
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
    const struct tc_variable *other;

    for (size_t pos = 0; (other = tc_map_next(&process->variables, &pos));) {
        if (other->kind == v->kind && other->root == v->root && other->is_matrix &&
            !other->requires_grad)
            return true;
    }
    return false;
}

static void count_frozen(struct owned_state *s, const struct tc_process *process,
                         const struct tc_variable *v)
{
    bool is_new;
    uint64_t *n = tc_map_at(&s->frozen, id_of(process, v->serial), &is_new);

    if (*n < WINDOWS_IN_A_ROW)
        *n = v->requires_grad ? 0 : *n + 1;
}

/* Was it frozen itself? Who thaws a part of the model may thaw its norms with it, and keep them
 * from the optimizer. */
static bool is_thawed(const struct owned_state *s, const struct tc_process *process,
                      const struct tc_variable *v)
{
    uint64_t n;

    return tc_map_get(&s->frozen, id_of(process, v->serial), &n) && n == WINDOWS_IN_A_ROW;
}

/* Did its model run with gradients in a step before and in none since? What a script has computed
 * once, to look at it, trains nothing. */
static bool is_left_over(const struct owned_state *s, const struct tc_event *event,
                         const struct tc_variable *v)
{
    uint64_t last;

    return v->root != TC_NONE && tc_map_get(&s->asked, id_of(event->process, v->root), &last) &&
           (int64_t)last < event->window->step;
}

/* A module clears the gradients of what it holds, whoever owns it: only an optimizer's calls tell
 * what is owned. Of a module a trace always has the mode. An optimizer may have one, too: a
 * schedule-free one does. */
static bool tells_owner(const struct tc_call *call)
{
    return call->role == TC_ROLE_STEP ||
           !tc_value_get(tc_value_get(call->self, "attrs"), "training");
}

/* Why it may belong to no optimizer that is known. */
static enum tc_excuse excuse_of(const struct owned_state *s, const struct tc_process *process,
                                const struct tc_variable *v, uint64_t streak)
{
    if (streak < WINDOWS_IN_A_ROW)
        return TC_EXCUSE_LATER_OWNER;
    if (process->n_gaps) /* it may be stepped where sampling left out */
        return TC_EXCUSE_GAP;
    if (process->hides_owners)
        return TC_EXCUSE_HIDDEN_OWNERS;
    if (!v->is_matrix && is_beside_frozen(process, v))
        return TC_EXCUSE_BESIDE_FROZEN;
    return is_thawed(s, process, v) ? TC_EXCUSE_UNFROZEN : TC_EXCUSE_NONE;
}

static void judge(struct owned_state *s, struct tc_strtab *symbols, const struct tc_event *event,
                  const struct tc_variable *v, const struct tc_sink *sink)
{
    uint64_t id = id_of(event->process, v->serial), unused;
    bool is_owned = tc_map_get(&s->owned, id, &unused), is_new;
    uint64_t *streak = tc_map_at(&s->streaks, id, &is_new);
    struct tc_situation situation;

    const bool is_written = tc_map_remove(&s->written, id);
    const bool is_old = !is_owned && !is_written && is_left_over(s, event, v);
    *streak = is_owned || is_written ? 0 : *streak + !is_old;
    enum tc_excuse excuse = is_owned     ? TC_EXCUSE_NONE
                            : is_written ? TC_EXCUSE_BY_HAND
                            : is_old     ? TC_EXCUSE_LEFT_OVER
                                         : excuse_of(s, event->process, v, *streak);
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

/* A group that an optimizer is given is its own before the first step, too. */
static void on_group(struct owned_state *s, const struct tc_event *event)
{
    int64_t serial;

    for (uint32_t pos = 0; (serial = tc_call_next_in_group(event->call, &pos)) != TC_NONE;)
        tc_map_put(&s->owned, id_of(event->process, serial), 1);
}

static void on_call(struct owned_state *s, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    on_group(s, event);
    if (tells_owner(call))
        for (size_t i = 0; i < call->n_params; i++)
            tc_map_put(&s->owned, id_of(event->process, call->params[i]), 1);
    if (call->is_root && !call->raised && !tc_value_get(call->ctx, "grad"))
        tc_map_put(&s->asked,
                   id_of(event->process, tc_value_int(tc_value_get(call->self, "id"), TC_NONE)),
                   (uint64_t)call->step);
}

static void owned_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    struct owned_state *s = state;
    const struct tc_variable *v;

    if (event->kind == TC_EVENT_CALL)
        on_call(s, event);
    if (event->kind == TC_EVENT_CHANGE && !event->call)
        tc_map_put(&s->written, id_of(event->process, event->variable->serial), 1);
    if (!tc_is_step_window(event))
        return;
    for (size_t pos = 0; (v = tc_map_next(&event->process->variables, &pos));) {
        if (v->kind == TC_SYM_PARAMETER && !v->is_matrix)
            count_frozen(s, event->process, v);
        if (v->kind == TC_SYM_PARAMETER && v->requires_grad && is_gradient(v->grad))
            judge(s, symbols, event, v, sink);
    }
}

const struct tc_source tc_source_gradients = {
    .name = "gradients",
    .judged = "the end of a step window, for each parameter with a gradient",
    .is_set = true,
    .state_size = sizeof(struct owned_state),
    .release = owned_release,
    .observe = owned_observe,
};

static const struct tc_claim claims[] = {
    {
     .key = {TC_BLANK_KIND},
     .kind = TC_BLANK_KIND,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_OWNED,
     .to = TC_SYM_TRUE,
     .held = {TC_SYM_OWNED, TC_SYM_TRUE},
     .support = TC_SUPPORT_USAGE,
     .expected = "each %k that gets a gradient belongs to an optimizer",
     .seen = "%v had a gradient in " TC_TEXT(
            WINDOWS_IN_A_ROW) " step windows, but no optimizer was given it",
     }
};

const struct tc_relation tc_event_contain_owned = {
    .name = "EventContain/owned",
    .summary = "every parameter that gets a gradient in a training step belongs to an optimizer",
    .hint =
        "Was this parameter made, or put in place of another, after the optimizer was built? One "
        "that is meant to rest is frozen, or accepted with --suppress.",
    .source = &tc_source_gradients,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
