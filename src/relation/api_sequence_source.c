/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_source.c - the examples of APISequence/window: the calls of each step window, in
 * order
 *
 * Each member as "ROLE CALL", its first and its last call; then what the script is known to use, as
 * "known CLASS".
 */
#include "relation/api_sequence.h"
#include "relation/frozen.h"

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "replay/symbols.h"

static bool is_scheduler(const struct tc_member_call *member)
{
    return member->role == TC_ROLE_SCHEDULER;
}

static bool is_work(const struct tc_member_call *member)
{
    if (member->role == TC_ROLE_FORWARD)
        return member->descriptor == TC_SYM_TRAINING_FORWARD;
    return !is_scheduler(member) && member->role != TC_ROLE_ZERO_GRAD &&
           member->role != TC_ROLE_COLLECTIVE;
}

/* Where the work of a step begins. A scheduler that is called before it closes the step before,
 * whose window was cut when the gradients were cleared, or when an evaluation began, whose results
 * ranks have added up; the first window has none before it. */
static size_t begin_of_work(const struct tc_window *window)
{
    size_t i = 0;

    while (window->step > 0 && i < window->members.n && !is_work(&window->members.items[i]))
        i++;
    return i;
}

static bool trains_a_model(const struct tc_window *window)
{
    for (size_t i = 0; i < window->members.n; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        if (member->role == TC_ROLE_STEP && !member->has_no_model)
            return true;
    }
    return false;
}

/*
 * Beside a model a script may train what stands in none, as soft actor-critic does its temperature:
 * that takes a backward and a step, and no forward. They are left out where the window trains a
 * model as well, unless the model's step uses the same backward.
 */
static void find_modelless(const struct tc_window *window, bool *is_modelless)
{
    bool trains = trains_a_model(window);
    bool has_own = true; /* the next step of a model has a backward of its own, or there is none */
    bool is_within = false;

    for (size_t i = window->members.n; i-- > 0;) {
        const struct tc_member_call *member = &window->members.items[i];
        if (member->role == TC_ROLE_STEP) {
            is_within = trains && member->has_no_model && has_own;
            has_own &= member->has_no_model;
        } else if (member->role == TC_ROLE_BACKWARD) {
            has_own = true;
        }
        is_modelless[i] = is_within && member->role != TC_ROLE_FORWARD;
    }
}

static void add_members(struct tc_strtab *symbols, const struct tc_window *window,
                        const bool *is_modelless, struct tc_tokens *all, bool are_late)
{
    size_t begin = begin_of_work(window), end = window->members.n - window->n_of_next;

    for (size_t i = 0; i < end; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        if (are_late == (i < begin && is_scheduler(member)))
            tc_vec_push(all, member->is_void || is_modelless[i]
                                 ? TC_NO_SYM
                                 : tc_token_of(symbols, member->role, member->descriptor));
    }
}

/* Of each member its first and its last call: all that order asks, however often it was called
 * between. */
static void normalise(struct tc_strtab *symbols, const struct tc_window *window,
                      struct tc_tokens *out)
{
    struct tc_map last = TC_MAP_INIT, seen = TC_MAP_INIT;
    struct tc_tokens all = {0};
    bool *is_modelless = tc_calloc(window->members.n + 1, sizeof(*is_modelless));

    find_modelless(window, is_modelless);
    add_members(symbols, window, is_modelless, &all, false);
    add_members(symbols, window, is_modelless, &all, true);
    tc_free(is_modelless);
    for (size_t i = 0; i < all.n; i++)
        tc_map_put(&last, all.items[i], i);
    for (size_t i = 0; i < all.n; i++) {
        bool is_first;
        uint64_t last_place = 0;
        tc_map_at(&seen, all.items[i], &is_first);
        tc_map_get(&last, all.items[i], &last_place);
        if (all.items[i] != TC_NO_SYM && (is_first || last_place == i))
            tc_vec_push(out, all.items[i]);
    }
    tc_vec_release(&all);
    tc_map_release(&last);
    tc_map_release(&seen);
}

void tc_window_situation(struct tc_situation *s, struct tc_strtab *symbols,
                         const struct tc_event *event)
{
    const struct tc_window *window = event->window;

    s->n = 0;
    tc_situation_set(s, TC_SYM_F_STAGE,
                     tc_symbols_quote(symbols, tc_symbols_text(symbols, window->stage)));
    tc_situation_set(s, TC_SYM_F_WORLD, event->process->world > 1 ? TC_SYM_MANY : TC_SYM_ONE);
    tc_situation_set(s, TC_SYM_F_CTX_AUTOCAST, tc_symbols_bool(window->has_autocast));
    tc_situation_set(s, TC_SYM_F_SELF_GRADS, window->grads);
    tc_situation_sort(s);
}

/* ---- what a script uses --------------------------------------------------------------------- */

/*
 * A script without a scheduler, a gradient scaler or a library cannot forget to call it, nor one
 * that asks for gradients by torch.autograd.grad the backward. So a call of such a role is missing
 * only once the process has called something of the same class; the outcome ends in "known CLASS"
 * for each.
 */
bool tc_window_is_optional(enum tc_role role)
{
    return role == TC_ROLE_BACKWARD || role == TC_ROLE_SCHEDULER || role == TC_ROLE_SCALER ||
           role == TC_ROLE_UNSCALE || role == TC_ROLE_LIBRARY;
}

/* A model was run with gradients since the last step, in this window or in one of an evaluation. */
tc_sym tc_window_asked(struct tc_strtab *symbols)
{
    return TC_ATOM(symbols, TC_SYM_KNOWN, TC_SYM_ROOT_FORWARD);
}

/* Who freezes the weights of all norms wants their statistics frozen as well, and that is what the
 * evaluation mode is for. */
tc_sym tc_window_rests(struct tc_strtab *symbols)
{
    return TC_ATOM(symbols, TC_SYM_KNOWN, TC_SYM_FROZEN_NORMS);
}

static bool has_frozen_norms(struct tc_module_names *names, struct tc_strtab *symbols,
                             const struct tc_process *process, int64_t root, int64_t step)
{
    struct tc_modules modules;
    const struct tc_variable *v;
    size_t n = 0, n_frozen = 0;

    tc_modules_find(names, symbols, process, root, step, &modules);
    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        if (v->kind != TC_SYM_BUFFER || v->root != root)
            continue;
        n++;
        n_frozen += tc_modules_rest(&modules, names, symbols, v);
    }
    tc_modules_release(&modules);
    return n && n_frozen == n;
}

/* What a process has done. */
struct window_history {
    struct tc_tokens known; /* classes of which something was called, in the order of their texts */
    bool trains;            /* it has stepped a model */
    bool is_asked;          /* since its last step it ran a model with gradients, */
    bool rests;             /* whose norms are all frozen, in evaluation mode */
    bool has_mode;
    struct tc_place mode; /* where a line put a module into evaluation mode last */
};

struct window_state {
    struct tc_process_states processes; /* struct window_history */
    struct tc_module_names names;
};

static void history_release(void *of_process)
{
    tc_vec_release(&((struct window_history *)of_process)->known);
}

static void window_release(void *state)
{
    tc_module_names_release(&((struct window_state *)state)->names);
}

static void know(struct tc_tokens *known, const struct tc_strtab *symbols, tc_sym token)
{
    const char *text = tc_strtab_text(symbols, token);
    size_t i = 0;

    while (i < known->n && strcmp(tc_strtab_text(symbols, known->items[i]), text) < 0)
        i++;
    if (i < known->n && known->items[i] == token)
        return;
    tc_vec_push(known, token);
    memmove(&known->items[i + 1], &known->items[i], (known->n - 1 - i) * sizeof(token));
    known->items[i] = token;
}

static void note_mode(struct window_history *history, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    if (call->role != TC_ROLE_MODE || call->raised ||
        tc_call_is_within(call->parent, TC_ROLE_MODE) ||
        tc_value_is_true(tc_value_get(call->args, "mode")))
        return;
    history->has_mode = true;
    tc_place_of(event, &history->mode);
}

static void on_call(struct window_state *s, struct tc_strtab *symbols, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const bool is_asked = call->is_root && !call->raised && !tc_value_get(call->ctx, "grad");

    if (!is_asked && !tc_window_is_optional(call->role) && call->role != TC_ROLE_MODE)
        return;
    struct window_history *history = tc_process_state(s, event->process);
    note_mode(history, event);
    if (tc_window_is_optional(call->role))
        know(&history->known, symbols, tc_known_class(symbols, call->fn));
    history->is_asked |= is_asked;
    if (is_asked && !tc_is_training_forward(call) && !history->rests)
        history->rests = has_frozen_norms(&s->names, symbols, event->process,
                                          tc_serial_of(call->self), call->step);
}

/* A window whose steps are all of what stands in no model, in a process that trains one: nothing is
 * claimed of it. */
static bool is_beside(struct window_history *history, const struct tc_event *event)
{
    const bool trains = trains_a_model(event->window);

    history->trains |= trains;
    return history->trains && !trains;
}

static void window_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    struct tc_situation situation;
    struct tc_tokens tokens = {0};

    if (event->kind == TC_EVENT_CALL)
        on_call(state, symbols, event);
    if (!tc_is_step_window(event))
        return;
    struct window_history *history = tc_process_state(state, event->process);
    const bool is_asked = history->is_asked, rests = history->rests;
    history->is_asked = history->rests = false;
    if (is_beside(history, event))
        return;
    if (event->window->is_pause) {
        tc_sink_excuse(sink, TC_SYM_STEP_WINDOW, TC_EXCUSE_PAUSE);
        return;
    }
    tc_window_situation(&situation, symbols, event);
    normalise(symbols, event->window, &tokens);
    for (size_t i = 0; i < history->known.n; i++)
        tc_vec_push(&tokens, history->known.items[i]);
    if (is_asked)
        tc_vec_push(&tokens, tc_window_asked(symbols));
    if (rests)
        tc_vec_push(&tokens, tc_window_rests(symbols));
    struct tc_example example = {.key = TC_SYM_STEP_WINDOW,
                                 .situation = &situation,
                                 .outcome = tokens.items,
                                 .n_outcome = tokens.n,
                                 .detail = history->has_mode ? &history->mode : NULL};
    sink->example(sink->context, event, &example);
    tc_vec_release(&tokens);
}

const struct tc_source tc_source_window = {
    .name = "window",
    .judged = "the end of a step window",
    .state_size = sizeof(struct window_state),
    .release = window_release,
    .process_size = sizeof(struct window_history),
    .release_process = history_release,
    .observe = window_observe,
    .condense = tc_window_condense,
};
