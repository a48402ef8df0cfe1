/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_owned.c - EventContain/owned: what gets a gradient in a step window belongs to an
 * optimizer
 *
 * No other form covers a parameter that no optimizer has: no call steps it. It is judged at the
 * end of each step window, for every parameter that requires a gradient and has one.
 */
#include "relation/consistent.h"
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one process, by serial. */
struct owners {
    struct tc_map owned;   /* variables that some optimizer has */
    struct tc_map streaks; /* variable → windows with a gradient and without an owner */
    struct tc_map written; /* variables that the script wrote to since they were judged */
    struct tc_map frozen;  /* norm or bias → windows in a row, at most so many */
    struct tc_map asked;   /* root → the last step in which it ran with gradients */
};

static void owners_release(void *of_process)
{
    struct owners *owners = of_process;

    tc_map_release(&owners->owned);
    tc_map_release(&owners->streaks);
    tc_map_release(&owners->written);
    tc_map_release(&owners->frozen);
    tc_map_release(&owners->asked);
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

/* Who freezes for fewer windows only keeps a gradient away, as from a discriminator. */
static void count_frozen(struct owners *owners, const struct tc_variable *v)
{
    bool is_new;
    uint64_t *n = tc_map_at(&owners->frozen, (uint64_t)v->serial, &is_new);

    if (*n < TC_THIRD_TIME)
        *n = v->requires_grad ? 0 : *n + 1;
}

/* Was it frozen itself? Who thaws a part of the model may thaw its norms with it, and keep them
 * from the optimizer. */
static bool is_thawed(const struct owners *owners, const struct tc_variable *v)
{
    uint64_t n;

    return tc_map_get(&owners->frozen, (uint64_t)v->serial, &n) && n == TC_THIRD_TIME;
}

/* Did its model run with gradients in a step before and in none since? What a script has computed
 * once, to look at it, trains nothing. */
static bool is_left_over(const struct owners *owners, const struct tc_variable *v, int64_t step)
{
    uint64_t last;

    return v->root != TC_NONE && tc_map_get(&owners->asked, (uint64_t)v->root, &last) &&
           (int64_t)last < step;
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
static enum tc_excuse excuse_of(const struct owners *owners, const struct tc_process *process,
                                const struct tc_variable *v, uint64_t streak)
{
    if (streak < TC_THIRD_TIME) /* an optimizer shows what it owns when it is first called */
        return TC_EXCUSE_LATER_OWNER;
    if (process->n_gaps) /* it may be stepped where sampling left out */
        return TC_EXCUSE_GAP;
    if (process->hides_owners)
        return TC_EXCUSE_HIDDEN_OWNERS;
    if (!v->is_matrix && is_beside_frozen(process, v))
        return TC_EXCUSE_BESIDE_FROZEN;
    return is_thawed(owners, v) ? TC_EXCUSE_UNFROZEN : TC_EXCUSE_NONE;
}

static void judge_owner(const struct tc_hearing *h, struct owners *owners,
                        const struct tc_variable *v)
{
    const uint64_t id = (uint64_t)v->serial;
    const bool is_owned = tc_map_get(&owners->owned, id, &(uint64_t){0});
    const bool is_written = tc_map_remove(&owners->written, id);
    const bool is_old = !is_owned && !is_written && is_left_over(owners, v, h->event->window->step);
    struct tc_situation situation;
    bool is_new;

    uint64_t *streak = tc_map_at(&owners->streaks, id, &is_new);
    *streak = is_owned || is_written ? 0 : *streak + !is_old;
    const enum tc_excuse excuse = is_owned     ? TC_EXCUSE_NONE
                                  : is_written ? TC_EXCUSE_BY_HAND
                                  : is_old     ? TC_EXCUSE_LEFT_OVER
                                               : excuse_of(owners, h->event->process, v, *streak);
    if (excuse) {
        tc_answer_excused(h, v, excuse);
        return;
    }
    tc_consistent_situation(&situation, v);
    tc_answer_of(h, is_owned, (struct tc_example){.variable = v, .situation = &situation});
}

/* A group that an optimizer is given is its own before the first step, too. */
static void on_call(struct owners *owners, const struct tc_call *call)
{
    int64_t serial;

    for (uint32_t pos = 0; (serial = tc_call_next_in_group(call, &pos)) != TC_NONE;)
        tc_map_put(&owners->owned, (uint64_t)serial, 1);
    for (size_t i = 0; i < call->n_params && tells_owner(call); i++)
        tc_map_put(&owners->owned, (uint64_t)call->params[i], 1);
    if (call->is_root && !call->raised && !tc_value_get(call->ctx, "grad"))
        tc_map_put(&owners->asked, (uint64_t)tc_serial_of(call->self), (uint64_t)call->step);
}

static void on_window(const struct tc_hearing *h, struct owners *owners)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&h->event->process->variables, &pos));) {
        if (v->kind != TC_SYM_PARAMETER)
            continue;
        if (!v->is_matrix)
            count_frozen(owners, v);
        if (v->requires_grad && is_gradient(v->grad))
            judge_owner(h, owners, v);
    }
}

static void owned_judge(const struct tc_hearing *h)
{
    const struct tc_event *event = h->event;
    struct owners *owners = tc_hearing_state(h);

    if (event->kind == TC_EVENT_CALL)
        on_call(owners, event->call);
    else if (event->kind == TC_EVENT_WINDOW)
        on_window(h, owners);
    else if (!event->call)
        tc_map_put(&owners->written, (uint64_t)event->variable->serial, 1);
}

const struct tc_relation_rule tc_rule_owned = {
    TC_RULE(tc_rule_owned),
    .form.name = "EventContain/owned",
    .form.summary =
        "every parameter that gets a gradient in a training step belongs to an optimizer",
    .form.hint =
        "Was this parameter made, or put in place of another, after the optimizer was built? One "
        "that is meant to rest is frozen, or accepted with --suppress.",
    .source.name = "gradients",
    .source.judged = "the end of a step window, for each parameter with a gradient",
    .source.process_size = sizeof(struct owners),
    .source.release_process = owners_release,
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_BLANK_KIND, TC_SYM_OWNED, TC_SYM_TRUE),
    TC_CLAIM_ATOMS(TC_BLANK_KIND, TC_WORDS(TC_SYM_OWNED, TC_SYM_TRUE),
                   TC_WORDS(TC_SYM_OWNED, TC_SYM_FALSE)),
    .claim.support = TC_SUPPORT_USAGE,
    .claim.expected = "each %k that gets a gradient belongs to an optimizer",
    .claim.seen = "%v had a gradient in " TC_TEXT(
        TC_THIRD_TIME) " step windows, but no optimizer was given it",
    .at = TC_AT_CALL | TC_AT_WINDOW | TC_AT_CHANGE | TC_AT_RAISED,
    .judge = owned_judge,
};
