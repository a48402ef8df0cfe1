/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c - members of the open window, phases since its cut, and forwards that came early
 *
 * A forward and backward behind the last step of a window belong to the next one and are carried
 * over; at most MAX_EARLY. An optimizer that steps without a gradient now and then pauses, for up
 * to STEPS_OF_PAUSE steps. All of it is per process and in the order of its records.
 */
#include "replay/window.h"

#include <string.h>

#include "base/strbuf.h"
#include "replay/rest.h"
#include "replay/symbols.h"

/* Is nothing around the call but calls that hold whole training loops? */
static bool is_at_top(const struct tc_call *call)
{
    const struct tc_call *around = call->parent;

    while (around && tc_role_has(around->role, TC_TRAIT_OUTER))
        around = around->parent;
    return !around;
}

static bool is_inside_same_role(const struct tc_call *call)
{
    for (const struct tc_call *around = call->parent; around; around = around->parent)
        if (around->role == call->role && around->is_root == call->is_root)
            return true;
    return false;
}

/*
 * A member is a call of the loop itself: at its top level, or one of the phases wherever it was
 * made. What torch itself calls at top level belongs to no sequence, and makes no step: a
 * scheduler's first one, or that of an optimizer which is to have a state before one is loaded.
 */
static bool is_member(const struct tc_strtab *symbols, const struct tc_call *call)
{
    bool is_top = is_at_top(call);

    if (!call->is_root && !tc_role_has(call->role, TC_TRAIT_MEMBER))
        return false;
    if (is_inside_same_role(call))
        return false;
    if (!is_top)
        return call->is_root || tc_role_has(call->role, TC_TRAIT_NESTED);
    return call->parent || !tc_str_is(tc_symbols_text(symbols, call->by), "torch");
}

static bool is_false(const struct tc_value *value)
{
    return value && value->kind == TC_VALUE_BOOL && !value->boolean;
}

static bool is_without_graph(const struct tc_call *call)
{
    return tc_value_get(call->ctx, "grad") || tc_value_get(call->ctx, "inference");
}

static tc_sym member_descriptor(struct tc_strtab *symbols, const struct tc_call *call)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!call->is_root)
        return call->fn;
    bool is_eval = is_false(tc_value_get(tc_value_get(call->self, "attrs"), "training"));
    tc_strbuf_addf(&text, "root.forward[%s,%s]", is_eval ? "eval" : "train",
                   is_without_graph(call) ? "no_grad" : "grad");
    tc_sym descriptor = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return descriptor;
}

static bool has_no_model(const struct tc_process *process, const struct tc_call *step)
{
    for (size_t i = 0; i < step->n_params; i++) {
        const struct tc_variable *variable = tc_process_variable(process, step->params[i]);
        if (!variable || variable->root != TC_NONE)
            return false;
    }
    return step->n_params > 0;
}

static void add_member(struct tc_process *process, struct tc_strtab *symbols, struct tc_call *call)
{
    struct tc_window *window = &process->window;

    call->member = window->members.n;
    tc_vec_push(&window->members,
                ((struct tc_member_call){
                    .descriptor = member_descriptor(symbols, call),
                    .role = call->role,
                    .id = call->id,
                    .at = tc_call_at(call),
                    .is_in_step = tc_call_is_within(call->parent, TC_ROLE_STEP),
                    .has_no_model = call->role == TC_ROLE_STEP && has_no_model(process, call)}));
}

void tc_window_call_begins(struct tc_process *process, struct tc_strtab *symbols,
                           struct tc_call *call)
{
    struct tc_window *window = &process->window;

    call->window = window->number;
    call->after = process->phases;
    if (tc_value_get(call->ctx, "autocast"))
        window->has_autocast = true;
    if (call->role == TC_ROLE_STEP) {
        bool is_same = !window->has_step || window->grads == call->grads;
        window->grads = is_same ? call->grads : TC_SYM_SOME;
    } else if (is_member(symbols, call)) {
        add_member(process, symbols, call);
    }
}

static void pass_phase(struct tc_process *process, const struct tc_call *call)
{
    if (call->is_root && is_without_graph(call))
        process->phases |= TC_PHASE_FORWARD | TC_PHASE_NO_GRAPH;
    else if (call->is_root)
        process->phases =
            (process->phases & ~(unsigned)TC_PHASE_NO_GRAPH) | TC_PHASE_FORWARD | TC_PHASE_GRAPH;
    else if (call->role == TC_ROLE_BACKWARD)
        process->phases |= TC_PHASE_BACKWARD;
    else if (call->role == TC_ROLE_UNSCALE)
        process->phases |= TC_PHASE_UNSCALE;
    else if (call->role == TC_ROLE_STEP)
        process->phases &= ~(unsigned)TC_PHASE_BACKWARD;
}

/* An optimizer that has stepped with gradients may step without any now and then: loops of
 * libraries do so where a callback holds the weights still. So many steps in a row are no such
 * pause. */
#define STEPS_OF_PAUSE 3

/* Is a gradient there that was made after the last step but this one? */
static bool has_new(const struct tc_process *process, const struct tc_call *step)
{
    for (size_t i = 0; i < step->n_params; i++) {
        const struct tc_variable *v = tc_process_variable(process, step->params[i]);
        if (v && v->grad != TC_SYM_GRAD_NULL && v->grad != TC_SYM_ZERO &&
            v->grad_made > v->grad_used)
            return true;
    }
    return false;
}

/* Has the step a gradient to use, when it ends? A closure may find nothing to learn from its batch:
 * it leaves those of a step before, or clears them. */
static bool has_gradient(const struct tc_process *process, const struct tc_call *step)
{
    if (process->phases & TC_PHASE_BACKWARD)
        return true;
    return step->grads != TC_SYM_NONE && (!tc_call_has_closure(step) || has_new(process, step));
}

static bool is_pause(struct tc_process *process, const struct tc_call *step, bool has_any)
{
    bool is_new;
    uint64_t *n = tc_map_at(&process->pauses,
                            (uint64_t)tc_value_int(tc_value_get(step->self, "id"), 0), &is_new);

    if (has_any)
        *n = 1;
    else if (*n)
        ++*n;
    return *n > 1 && *n <= STEPS_OF_PAUSE;
}

void tc_window_call_ends(struct tc_process *process, struct tc_strtab *symbols,
                         struct tc_call *call)
{
    struct tc_window *window = &process->window;
    bool is_in_window = call->window == window->number, has_any;

    if (call->raised) {
        if (call->member != SIZE_MAX && is_in_window)
            window->members.items[call->member].is_void = true;
        return;
    }
    process->has_run |= call->is_root || call->role == TC_ROLE_BACKWARD;
    has_any = call->role == TC_ROLE_STEP && has_gradient(process, call);
    if (call->role == TC_ROLE_STEP)
        call->is_pause = is_pause(process, call, has_any);
    if (call->role == TC_ROLE_STEP && is_in_window && is_member(symbols, call)) {
        add_member(process, symbols, call);
        window->is_pause = call->is_pause && (window->is_pause || !window->has_step);
        window->has_step = true;
    }
    /* A script asks which rates a schedule will have before it trains. What else its window holds
     * is a step's all the same. */
    if (call->role == TC_ROLE_STEP && !process->has_run)
        call->is_pause |= !has_any;
    pass_phase(process, call);
}

void tc_window_remember(struct tc_process *process, const struct tc_call *call)
{
    if (call->th != 0 ||
        !(call->is_root || call->role == TC_ROLE_DATA || tc_role_has(call->role, TC_TRAIT_MEMBER)))
        return;
    if (process->n_recent == TC_RECENT_CALLS)
        memmove(process->recent, process->recent + 1,
                --process->n_recent * sizeof(*process->recent));
    process->recent[process->n_recent++] =
        (struct tc_recent_call){call->descriptor, tc_call_at(call)};
}

/* More forwards than these are no part of one step. */
#define MAX_EARLY 256

/* Where the members begin that no step has used: at the first root forward after the last step. */
static size_t first_unused(const struct tc_window *window)
{
    size_t first = window->members.n;

    for (size_t i = window->members.n; i-- > 0 && window->members.items[i].role != TC_ROLE_STEP;)
        if (window->members.items[i].role == TC_ROLE_FORWARD)
            first = i;
    return first;
}

static void put_early_first(struct tc_window *window)
{
    size_t n_own = window->members.n;

    for (size_t i = 0; i < n_own; i++)
        tc_vec_push(&window->early, window->members.items[i]);
    window->members.n = 0;
    for (size_t i = 0; i < window->early.n; i++)
        tc_vec_push(&window->members, window->early.items[i]);
    window->early.n = 0;
}

/* A forward and its backward behind the last step are the next step's, and no disorder of this
 * one. */
static size_t count_of_next(const struct tc_window *window)
{
    size_t first = first_unused(window), i = first;

    while (i < window->members.n && window->members.items[i].role != TC_ROLE_BACKWARD)
        i++;
    return i < window->members.n ? window->members.n - first : 0;
}

void tc_window_close(struct tc_process *process, bool is_late)
{
    struct tc_window *window = &process->window;

    if (window->has_step && window->early.n)
        put_early_first(window);
    window->n_of_next = window->has_step && is_late ? count_of_next(window) : 0;
}

static void keep_early(struct tc_window *window, bool is_late)
{
    bool is_kept = window->has_step ? is_late : window->stage == TC_SYM_TRAINING;

    for (size_t i = is_kept ? first_unused(window) : SIZE_MAX;
         i < window->members.n && window->early.n < MAX_EARLY; i++)
        tc_vec_push(&window->early, window->members.items[i]);
}

void tc_window_next(struct tc_process *process, bool is_late)
{
    struct tc_window *window = &process->window;

    keep_early(window, is_late);
    window->number++;
    tc_rest_look(process);
    window->begin_t = window->t;
    window->members.n = 0;
    window->has_step = window->has_autocast = window->is_pause = false;
    window->grads = TC_SYM_NONE;
    process->phases &= TC_PHASE_NO_GRAPH;
}

void tc_window_release(struct tc_window *window)
{
    tc_vec_release(&window->members);
    tc_vec_release(&window->early);
}
