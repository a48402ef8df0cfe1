/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_between.c - APISequence/between: no Ia between Ib and Ic
 *
 *   zero_grad   between a backward and the optimizer step that it is for: the gradient is lost.
 *               A scaler may leave out the step; and the gradient was not for a step at all where
 *               it was for an input of the model, or where the script moved the weights by it, or
 *               kept a copy of it and computes with that after the clearing.
 *               Now and then a script clips it, sees how large it is and leaves out the step, or
 *               does so without a clipping, seldom and at no fixed distance; and before the first
 *               step it may try a backward, and begin again
 *   clip        between a backward and the unscaling of its gradients, which a scaler's step may
 *               do itself: the limit is another; and
 *               between two backwards of one model that a step adds up: it is no limit of the sum
 *
 * By role, whichever API has it. An example for each step window that has Ia and Ic. What a step
 * calls itself, as a closure, is its own business.
 */
#include "relation/api_sequence.h"
#include "relation/claims.h"
#include "relation/third_time.h"

#include <string.h>

#include "base/map.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* A row each: no call of the first role between one of the second and one of the third. */
#define CLAIM(key_, what, from, to, expected_, seen_)                                             \
    {                                                                                             \
        .key = {(key_)}, .roles = {(what), (from), (to)}, .n_roles = 3, .held = {TC_SYM_OUTSIDE}, \
        .support = TC_SUPPORT_LAW, .expected = (expected_), .seen = (seen_)                       \
    }

static const struct tc_claim rules[] = {
    CLAIM(TC_SYM_ZERO_GRAD, TC_ROLE_ZERO_GRAD, TC_ROLE_BACKWARD, TC_ROLE_STEP,
          "no zero_grad() comes between a backward and the optimizer step",
          "%m cleared gradients that no step had used"),
    CLAIM(TC_SYM_CLIP, TC_ROLE_CLIP, TC_ROLE_BACKWARD, TC_ROLE_UNSCALE,
          "no clipping comes between a backward and unscaling",
          "%m saw gradients that were still scaled"),
    CLAIM(TC_SYM_CLIP_SUM, TC_ROLE_CLIP, TC_ROLE_BACKWARD, TC_ROLE_BACKWARD,
          "no clipping comes between two backwards of one model that one step uses",
          "%m saw a part of the gradients that the step used: a backward added to them after"),
};

enum {
    WHAT,
    FROM,
    TO
}; /* its roles */

static bool is_of_the_loop(const struct tc_member_call *member)
{
    return !member->is_void && !member->is_in_step;
}

static bool has_role(const struct tc_window *window, enum tc_role role)
{
    for (size_t i = 0; i < window->members.n; i++)
        if (window->members.items[i].role == role && is_of_the_loop(&window->members.items[i]))
            return true;
    return false;
}

/* ---- what a gradient was for --------------------------------------------------------------- */

/* Ids of calls in the open window, and in the one before it, the end of which may belong to this
 * one. */
struct ids {
    struct tc_map now, before;
};

static void ids_add(struct ids *ids, int64_t id)
{
    tc_map_put(&ids->now, (uint64_t)id, 1);
}

static void ids_remove(struct ids *ids, int64_t id)
{
    tc_map_remove(&ids->now, (uint64_t)id);
    tc_map_remove(&ids->before, (uint64_t)id);
}

static bool ids_have(const struct ids *ids, int64_t id)
{
    uint64_t ignored;

    return tc_map_get(&ids->now, (uint64_t)id, &ignored) ||
           tc_map_get(&ids->before, (uint64_t)id, &ignored);
}

static void ids_next_window(struct ids *ids)
{
    struct tc_map clear = ids->before;

    tc_map_clear(&clear);
    ids->before = ids->now;
    ids->now = clear;
}

static void ids_release(struct ids *ids)
{
    tc_map_release(&ids->now);
    tc_map_release(&ids->before);
}

/* Of one process, since its last step. */
struct progress {
    bool asks_input; /* a root was given a tensor that requires a gradient */
    bool is_spent;   /* the gradients of the last backward have served */
    bool has_trial;  /* the window being judged clears what a script has tried */
    bool leaves_out; /* and what it gives up for another one */
    bool has_begun;
    uint64_t n_plain;     /* steps that cleared none before them */
    uint64_t n_left_out;  /* that were given up for another one */
    uint64_t at_left_out; /* n_plain at the last of these */
    uint64_t distance;    /* how many plain ones were before it */
    unsigned n_equal;     /* such distances in a row that are the same */
    tc_sym trial;         /* the line of the backward that it tried; TC_NO_SYM before */
    struct tc_map tried;  /* who cleared so → its first such call; then its last */
    struct ids trials;    /* clearings of gradients before the first step of their optimizer */
    struct ids after_use; /* clearings of gradients that were used, or of none */
    struct ids early;     /* clippings that another backward followed */
    struct ids unscaled;  /* calls of scalers that unscaled inside */
    struct tc_map made;   /* what calls returned → OF_GRADIENT if it is made of a gradient */
    int64_t loss;         /* of the last backward since the last step, or TC_NONE */
    int64_t cleared;      /* the last clearing since then, or TC_NONE */
    int64_t asked;        /* the root that ran last with gradients, or TC_NONE */
    int64_t trained;      /* that of the last backward */
    int64_t clip;         /* the last clipping of gradients that no step has used; and their root */
    int64_t clipped;
};

static void progress_release(void *of_process)
{
    struct progress *progress = of_process;

    tc_map_release(&progress->tried);
    tc_map_release(&progress->made);
    ids_release(&progress->trials);
    ids_release(&progress->after_use);
    ids_release(&progress->early);
    ids_release(&progress->unscaled);
}

static struct progress *progress_of(void *state, const struct tc_process *process)
{
    struct progress *progress = tc_process_state(state, process);

    if (!progress->has_begun)
        progress->asked = progress->trained = progress->clipped = progress->loss =
            progress->cleared = TC_NONE;
    if (!progress->has_begun)
        progress->trial = TC_NO_SYM;
    progress->has_begun = true;
    return progress;
}

static bool asks_for_input(const struct tc_call *call)
{
    for (uint32_t i = 0; call->args && i < call->args->n; i++)
        if (tc_requires_gradient(&call->args->members[i].value))
            return true;
    return false;
}

/* Did it clear a gradient that was made after the last step of its owner? One whose weights a line
 * of the script has written to since has served. */
static bool clears_in_vain(const struct tc_process *process, const struct tc_call *call)
{
    bool is_in_vain = false, is_moved = false;
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        if (v->grad_cause != call->id || v->grad_made <= v->stepped)
            continue;
        is_in_vain = true;
        is_moved |= v->written.fn != TC_NO_SYM && v->written.id > v->grad_made;
    }
    return is_in_vain ? !is_moved : !process->variables.n || process->has_samples;
}

/* Has nothing that it cleared been stepped yet? */
static bool clears_unstepped(const struct tc_process *process, const struct tc_call *call)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));)
        if (v->grad_cause == call->id && v->stepped >= 0)
            return false;
    return process->variables.n && !process->has_samples;
}

/* A script may try a backward before it trains, and clear what that made. Who clears more often
 * before the first step may do so in each. The two backwards stand at different lines. */
static void follow_trial(struct progress *progress, const struct tc_call *call)
{
    bool is_new;
    uint64_t *first = tc_map_at(&progress->tried, (uint64_t)tc_serial_of(call->self), &is_new);

    if (is_new)
        ids_add(&progress->trials, call->id);
    else
        ids_remove(&progress->trials, (int64_t)*first);
    *first = (uint64_t)call->id;
}

/* Do backwards of one model add to gradients that were clipped? Those of two models may be clipped
 * each after its own backward. */
static void follow_clips(struct progress *progress, const struct tc_call *call)
{
    if (call->is_root && !tc_value_get(call->ctx, "grad")) {
        progress->asked = tc_serial_of(call->self);
    } else if (call->role == TC_ROLE_BACKWARD) {
        progress->trained = progress->asked;
        if (progress->clipped != TC_NONE && progress->clipped == progress->trained)
            ids_add(&progress->early, progress->clip);
    } else if (call->role == TC_ROLE_CLIP) {
        progress->clip = call->id;
        progress->clipped = progress->trained;
    } else if (call->role == TC_ROLE_STEP || call->role == TC_ROLE_ZERO_GRAD ||
               call->role == TC_ROLE_SCALER) {
        progress->clipped = TC_NONE;
    }
}

/* A scaler's step unscales what the script has not. */
static void follow_unscaling(struct progress *progress, const struct tc_call *call)
{
    if (call->role != TC_ROLE_UNSCALE)
        return;
    while ((call = call->parent))
        if (call->role == TC_ROLE_SCALER)
            ids_add(&progress->unscaled, call->id);
}

#define MAX_MADE 16384

enum {
    OF_CALL = 1,
    OF_GRADIENT
};

/* A gradient is a tensor that no call returned, and that is met first after the backward. */
static bool is_gradient(const struct progress *progress, const struct tc_event *event,
                        const struct tc_value *tensor)
{
    const int64_t serial = tc_serial_of(tensor);
    uint64_t ignored;

    return progress->loss != TC_NONE && serial > progress->loss && !tc_requires_gradient(tensor) &&
           tc_n_dimensions(tensor) >= 2 &&
           !tc_map_get(&progress->made, (uint64_t)serial, &ignored) &&
           !tc_process_variable(event->process, serial);
}

static void note_kept(struct progress *progress, const struct tc_value *operand)
{
    uint64_t kept = 0;

    if (operand && progress->cleared != TC_NONE &&
        tc_map_get(&progress->made, (uint64_t)tc_serial_of(operand), &kept) && kept == OF_GRADIENT)
        ids_add(&progress->after_use, progress->cleared);
}

/* A copy of a gradient that a line takes, and computes with after the clearing: it has served. */
static void follow_kept(struct progress *progress, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *value = call->end->value, *operand;
    const bool is_kept = call->role == TC_ROLE_OPERATOR && is_gradient(progress, event, call->self);

    note_kept(progress, call->self);
    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        note_kept(progress, operand);
    if (tc_is_tensor(value))
        tc_map_remember(&progress->made, MAX_MADE, (uint64_t)tc_serial_of(value),
                        is_kept ? OF_GRADIENT : OF_CALL);
    if (call->role == TC_ROLE_BACKWARD)
        progress->loss = tc_serial_of(call->self);
    else if (call->role == TC_ROLE_ZERO_GRAD)
        progress->cleared = call->id;
    else if (call->role == TC_ROLE_STEP)
        progress->cleared = progress->loss = TC_NONE;
}

static void follow_call(struct progress *progress, const struct tc_event *event)
{
    const struct tc_process *process = event->process;
    const struct tc_call *call = event->call;

    follow_kept(progress, event);
    follow_clips(progress, call);
    follow_unscaling(progress, call);
    if (call->is_root) {
        progress->asks_input |= asks_for_input(call);
    } else if (call->role == TC_ROLE_BACKWARD) {
        progress->is_spent = progress->asks_input;
    } else if (call->role == TC_ROLE_STEP) {
        progress->asks_input = false;
    } else if (call->role == TC_ROLE_ZERO_GRAD) {
        if (progress->is_spent || !clears_in_vain(process, call))
            ids_add(&progress->after_use, call->id);
        else if (clears_unstepped(process, call))
            follow_trial(progress, call);
        progress->asks_input = false;
    }
}

static const struct tc_member_call *find_early_clip(const struct tc_window *window,
                                                    const struct progress *progress)
{
    for (size_t i = 0; i < window->members.n; i++)
        if (is_of_the_loop(&window->members.items[i]) &&
            ids_have(&progress->early, window->members.items[i].id))
            return &window->members.items[i];
    return NULL;
}

static bool is_end(const struct tc_member_call *member)
{
    return member->role == TC_ROLE_STEP || member->role == TC_ROLE_SCALER;
}

/* Was what the call clears clipped, and nothing done with it since? */
static bool was_clipped(const struct tc_window *window, size_t at)
{
    for (size_t i = at; i-- > 0;) {
        const struct tc_member_call *member = &window->members.items[i];
        if (is_of_the_loop(member) && member->role == TC_ROLE_CLIP)
            return true;
        if (is_of_the_loop(member) && (is_end(member) || member->role == TC_ROLE_BACKWARD ||
                                       member->role == TC_ROLE_ZERO_GRAD))
            return false;
    }
    return false;
}

/* The backward that the step is given instead of what the call clears, or NULL. */
static const struct tc_member_call *made_anew(const struct tc_window *window, size_t at)
{
    for (size_t i = at + 1; i < window->members.n; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        if (is_of_the_loop(member) && (is_end(member) || member->role == TC_ROLE_BACKWARD))
            return member->role == TC_ROLE_BACKWARD ? member : NULL;
    }
    return NULL;
}

#define PLAIN_FOR_EACH 10

/* How many distances in a row are the same, with the one that ends here? Shorter ones are those of
 * bad luck that lasts. */
static unsigned equal_distances(const struct progress *progress)
{
    const uint64_t distance = progress->n_plain - progress->at_left_out;

    return distance == progress->distance && distance + 1 >= PLAIN_FOR_EACH ? progress->n_equal + 1
                                                                            : 1;
}

/* Is it seldom that a gradient is given up for another one, and not each time after as many steps?
 * Then what was computed decides so. What a loop does after each epoch comes at equal distances. */
static bool is_decided(const struct progress *progress)
{
    return progress->leaves_out ||
           (progress->n_plain >= PLAIN_FOR_EACH * (progress->n_left_out + 1) &&
            equal_distances(progress) < TC_THIRD_TIME);
}

static void leave_out(struct progress *progress)
{
    if (progress->leaves_out)
        return;
    progress->leaves_out = true;
    progress->n_equal = equal_distances(progress);
    progress->distance = progress->n_plain - progress->at_left_out;
    progress->at_left_out = progress->n_plain;
    progress->n_left_out++;
}

/* The line of the backward before the call. */
static tc_sym line_of_lost(const struct tc_window *window, size_t at)
{
    while (at-- > 0)
        if (is_of_the_loop(&window->members.items[at]) &&
            window->members.items[at].role == TC_ROLE_BACKWARD)
            return window->members.items[at].at;
    return TC_NO_SYM;
}

/* Why what the call clears may be cleared. What comes again was no trial: gradients of the
 * step before, to which the backward added, had served, and its own had not. */
static enum tc_excuse excuse_of(const struct tc_window *window, const struct progress *progress,
                                size_t at)
{
    const struct tc_member_call *anew = made_anew(window, at);
    const tc_sym lost = line_of_lost(window, at);
    const bool comes_again = lost == progress->trial && !progress->has_trial;

    if (ids_have(&progress->after_use, window->members.items[at].id) && !comes_again)
        return TC_EXCUSE_ALREADY_USED;
    if (!anew)
        return TC_EXCUSE_NONE;
    if (progress->n_plain && was_clipped(window, at))
        return TC_EXCUSE_DROPPED;
    if (ids_have(&progress->trials, window->members.items[at].id) && lost != anew->at)
        return TC_EXCUSE_TRIED;
    return window->members.items[at].role == TC_ROLE_ZERO_GRAD && is_decided(progress)
               ? TC_EXCUSE_LEFT_OUT
               : TC_EXCUSE_NONE;
}

/* Does it end what the rule speaks of? */
static bool ends(const struct tc_member_call *member, enum tc_role role,
                 const struct progress *progress)
{
    if (member->role == role)
        return true;
    if (member->role != TC_ROLE_SCALER)
        return false;
    return role == TC_ROLE_STEP ||
           (role == TC_ROLE_UNSCALE && ids_have(&progress->unscaled, member->id));
}

static bool has_unscaling(const struct tc_window *window, const struct progress *progress)
{
    for (size_t i = 0; i < window->members.n; i++)
        if (is_of_the_loop(&window->members.items[i]) &&
            ends(&window->members.items[i], TC_ROLE_UNSCALE, progress))
            return true;
    return false;
}

/* Has the window what the rule speaks of? */
static bool is_asked(const struct tc_window *window, const struct tc_claim *rule,
                     const struct progress *progress)
{
    return has_role(window, rule->roles[WHAT]) &&
           (rule->roles[TO] == TC_ROLE_UNSCALE ? has_unscaling(window, progress)
                                               : has_role(window, rule->roles[TO]));
}

/* The first call that stands where it must not, or NULL. */
static const struct tc_member_call *find_between(const struct tc_window *window,
                                                 const struct tc_claim *rule,
                                                 struct progress *progress,
                                                 const struct tc_sink *sink)
{
    if (rule->roles[WHAT] == TC_ROLE_CLIP && rule->roles[TO] == TC_ROLE_BACKWARD)
        return find_early_clip(window, progress);

    bool is_waiting = false; /* a backward */

    for (size_t i = 0; i < window->members.n; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        if (!is_of_the_loop(member))
            continue;
        if (member->role == rule->roles[WHAT] && is_waiting) {
            const enum tc_excuse excuse = excuse_of(window, progress, i);
            if (member->role == TC_ROLE_ZERO_GRAD &&
                (excuse == TC_EXCUSE_LEFT_OUT || excuse == TC_EXCUSE_NONE))
                leave_out(progress);
            if (excuse == TC_EXCUSE_NONE)
                return member;
            if (excuse == TC_EXCUSE_TRIED)
                progress->trial = line_of_lost(window, i);
            progress->has_trial |= excuse == TC_EXCUSE_TRIED;
            tc_sink_excuse(sink, rule->key[0], excuse);
        }
        if (member->role == rule->roles[FROM])
            is_waiting = true;
        else if (ends(member, rule->roles[TO], progress))
            is_waiting = false;
    }
    return NULL;
}

static void judge_rule(const struct tc_claim *rule, struct tc_strtab *symbols,
                       const struct tc_event *event, struct progress *progress,
                       const struct tc_sink *sink)
{
    progress->has_trial = progress->leaves_out = false;
    const struct tc_member_call *between = find_between(event->window, rule, progress, sink);
    const tc_sym outcome[] = {between ? TC_SYM_BETWEEN : TC_SYM_OUTSIDE};
    struct tc_situation situation;
    struct tc_place place;

    tc_window_situation(&situation, symbols, event);
    tc_place_of(event, &place);
    if (between && between->at != TC_SYM_EMPTY)
        place.at = between->at;
    struct tc_example example = {.key = rule->key[0],
                                 .situation = &situation,
                                 .outcome = outcome,
                                 .n_outcome = 1,
                                 .place = &place,
                                 .member = between};
    sink->example(sink->context, event, &example);
    progress->n_plain += !between && !progress->has_trial && !progress->leaves_out &&
                         rule->roles[WHAT] == TC_ROLE_ZERO_GRAD;
}

static void on_window(struct progress *progress, struct tc_strtab *symbols,
                      const struct tc_event *event, const struct tc_sink *sink)
{
    if (!tc_is_step_window(event)) /* its calls belong to the next */
        return;
    for (size_t i = 0; i < TC_N_CLAIMS(rules); i++)
        if (is_asked(event->window, &rules[i], progress))
            judge_rule(&rules[i], symbols, event, progress, sink);
    ids_next_window(&progress->trials);
    ids_next_window(&progress->after_use);
    ids_next_window(&progress->early);
    ids_next_window(&progress->unscaled);
}

static void between_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                            const struct tc_sink *sink)
{
    if (!event->process || event->process->is_worker)
        return;
    struct progress *progress = progress_of(state, event->process);
    if (event->kind == TC_EVENT_WINDOW)
        on_window(progress, symbols, event, sink);
    else if (event->kind == TC_EVENT_CALL && !event->call->raised)
        follow_call(progress, event);
    else if (event->kind == TC_EVENT_CHANGE && !event->call &&
             event->variable->kind == TC_SYM_PARAMETER && event->variable->requires_grad)
        progress->is_spent = true;
}

const struct tc_source tc_source_clearing = {
    .name = "clearing",
    .judged = "the end of a step window, for each clearing and clipping in it",
    .is_set = true,
    .looks_closely = true,
    .process_size = sizeof(struct progress),
    .release_process = progress_release,
    .observe = between_observe,
};

const struct tc_relation tc_api_sequence_between = {
    .name = "APISequence/between",
    .summary = "gradients are neither cleared before their step nor clipped before they are whole",
    .hint = "Does the call stand in the wrong place, or in the loop over micro-batches?",
    .fault = TC_FAULT_AT_BEGIN,
    .source = &tc_source_clearing,
    .claims = rules,
    .n_claims = TC_N_CLAIMS(rules),
};
