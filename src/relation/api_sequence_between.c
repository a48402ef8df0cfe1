/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_between.c - APISequence/between: no Ia between Ib and Ic
 *
 *   zero_grad   between a backward and the optimizer step that it is for: the gradient is lost.
 *               A scaler may leave out the step; and the gradient was not for a step at all where
 *               it was for an input of the model, or where the script moved the weights by it
 *   clip        between a backward and the unscaling of its gradients: the limit is another; and
 *               between two backwards of one model that a step adds up: it is no limit of the sum
 *
 * By role, whichever API has it. An example for each step window that has Ia and Ic. What a step
 * calls itself, as a closure, is its own business.
 */
#include "relation/api_sequence.h"

#include <string.h>

#include "base/banned.h"
#include "base/map.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

static const struct rule {
    const char *key;
    enum tc_role what, from, to;
    const char *sentence, *breach;
} rules[] = {
    {"zero_grad", TC_ROLE_ZERO_GRAD, TC_ROLE_BACKWARD, TC_ROLE_STEP,
     "no zero_grad() comes between a backward and the optimizer step",          " cleared gradients that no step had used"                                       },
    {"clip",      TC_ROLE_CLIP,      TC_ROLE_BACKWARD, TC_ROLE_UNSCALE,
     "no clipping comes between a backward and unscaling",                      " saw gradients that were still scaled"                                          },
    {"clip sum",  TC_ROLE_CLIP,      TC_ROLE_BACKWARD, TC_ROLE_BACKWARD,
     "no clipping comes between two backwards of one model that one step uses", " saw a part of the gradients that the step used: a backward added to them after"},
};
#define N_RULES  (sizeof(rules) / sizeof(*rules))
#define N_PARAMS 3

static tc_sym key_of_rule(struct tc_strtab *symbols, const struct rule *rule)
{
    return tc_strtab_intern_text(symbols, rule->key);
}

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
struct course {
    bool asks_input;     /* a root was given a tensor that requires a gradient */
    bool is_spent;       /* the gradients of the last backward have served */
    struct ids harmless; /* calls that cleared none in vain */
    struct ids early;    /* clippings that another backward followed */
    int64_t asked;       /* the root that ran last with gradients, or TC_NONE */
    int64_t trained;     /* that of the last backward */
    int64_t clip;        /* the last clipping of gradients that no step has used; and their root */
    int64_t clipped;
};

static void *between_open(void)
{
    return tc_calloc(1, sizeof(struct tc_map));
}

static void between_close(void *state)
{
    struct tc_map *courses = state;
    uint64_t process, pointer;

    for (size_t pos = 0; tc_map_each(courses, &pos, &process, &pointer);) {
        struct course *course = (struct course *)(uintptr_t)pointer;
        ids_release(&course->harmless);
        ids_release(&course->early);
        tc_free(course);
    }
    tc_map_release(courses);
    tc_free(courses);
}

static struct course *course_of(struct tc_map *courses, const struct tc_process *process)
{
    bool is_new = !tc_map_get(courses, (uintptr_t)process, &(uint64_t){0});
    struct course *course = tc_map_struct(courses, (uintptr_t)process, sizeof(struct course));

    if (is_new)
        course->asked = course->trained = course->clipped = TC_NONE;
    return course;
}

static bool asks_gradient(const struct tc_value *operand)
{
    const struct tc_value *requires_grad = tc_value_get(operand, "requires_grad");

    return requires_grad && requires_grad->kind == TC_VALUE_BOOL && requires_grad->boolean;
}

static bool asks_for_input(const struct tc_call *call)
{
    for (uint32_t i = 0; call->args && i < call->args->n; i++)
        if (asks_gradient(&call->args->members[i].value))
            return true;
    return false;
}

/* Did it clear a gradient that was made after the last step of its owner? */
static bool clears_in_vain(const struct tc_process *process, const struct tc_call *call)
{
    uint64_t serial, pointer;

    for (size_t pos = 0; tc_map_each(&process->variables, &pos, &serial, &pointer);) {
        const struct tc_variable *v = (const struct tc_variable *)(uintptr_t)pointer;
        if (v->grad_cause == call->id && v->grad_made > v->stepped)
            return true;
    }
    return !process->variables.n || process->has_samples;
}

/* Do backwards of one model add to gradients that were clipped? Those of two models may be clipped
 * each after its own backward. */
static void follow_clips(struct course *course, const struct tc_call *call)
{
    if (call->is_root && !tc_value_get(call->ctx, "grad")) {
        course->asked = tc_value_int(tc_value_get(call->self, "id"), TC_NONE);
    } else if (call->role == TC_ROLE_BACKWARD) {
        course->trained = course->asked;
        if (course->clipped != TC_NONE && course->clipped == course->trained)
            ids_add(&course->early, course->clip);
    } else if (call->role == TC_ROLE_CLIP) {
        course->clip = call->id;
        course->clipped = course->trained;
    } else if (call->role == TC_ROLE_STEP || call->role == TC_ROLE_ZERO_GRAD ||
               call->role == TC_ROLE_SCALER) {
        course->clipped = TC_NONE;
    }
}

static void follow(struct course *course, const struct tc_process *process,
                   const struct tc_call *call)
{
    follow_clips(course, call);
    if (call->is_root) {
        course->asks_input |= asks_for_input(call);
    } else if (call->role == TC_ROLE_BACKWARD) {
        course->is_spent = course->asks_input;
    } else if (call->role == TC_ROLE_STEP) {
        course->asks_input = false;
    } else if (call->role == TC_ROLE_ZERO_GRAD) {
        if (course->is_spent || !clears_in_vain(process, call))
            ids_add(&course->harmless, call->id);
        course->asks_input = false;
    }
}

static const struct tc_member_call *find_early_clip(const struct tc_window *window,
                                                    const struct course *course)
{
    for (size_t i = 0; i < window->members.n; i++)
        if (is_of_the_loop(&window->members.items[i]) &&
            ids_have(&course->early, window->members.items[i].id))
            return &window->members.items[i];
    return NULL;
}

/* The first call that stands where it must not, or NULL. */
static const struct tc_member_call *find_between(const struct tc_window *window,
                                                 const struct rule *rule,
                                                 const struct course *course, tc_sym key,
                                                 const struct tc_sink *sink)
{
    if (rule->what == TC_ROLE_CLIP && rule->to == TC_ROLE_BACKWARD)
        return find_early_clip(window, course);

    bool is_waiting = false; /* a backward */

    for (size_t i = 0; i < window->members.n; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        if (!is_of_the_loop(member))
            continue;
        if (member->role == rule->what && is_waiting) {
            if (!ids_have(&course->harmless, member->id))
                return member;
            tc_sink_excuse(sink, key, TC_EXCUSE_SERVED);
        }
        if (member->role == rule->from)
            is_waiting = true;
        else if (member->role == rule->to ||
                 (rule->to == TC_ROLE_STEP && member->role == TC_ROLE_SCALER))
            is_waiting = false;
    }
    return NULL;
}

static void judge(const struct rule *rule, struct tc_strtab *symbols, const struct tc_event *event,
                  const struct course *course, const struct tc_sink *sink)
{
    const tc_sym key = key_of_rule(symbols, rule);
    const struct tc_member_call *between = find_between(event->window, rule, course, key, sink);
    const tc_sym outcome[] = {between ? TC_SYM_BETWEEN : TC_SYM_OUTSIDE};
    struct tc_situation situation;
    struct tc_place place;

    tc_window_situation(&situation, symbols, event);
    tc_place_of(event, &place);
    if (between && between->at != TC_SYM_EMPTY)
        place.at = between->at;
    struct tc_example example = {.key = key,
                                 .situation = &situation,
                                 .outcome = outcome,
                                 .n_outcome = 1,
                                 .place = &place,
                                 .detail = between};
    sink->example(sink->context, event, &example);
}

static void on_window(struct course *course, struct tc_strtab *symbols,
                      const struct tc_event *event, const struct tc_sink *sink)
{
    if (!tc_is_step_window(event)) /* its calls belong to the next */
        return;
    for (size_t i = 0; i < N_RULES; i++)
        if (has_role(event->window, rules[i].what) && has_role(event->window, rules[i].to))
            judge(&rules[i], symbols, event, course, sink);
    ids_next_window(&course->harmless);
    ids_next_window(&course->early);
}

static void between_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                            const struct tc_sink *sink)
{
    if (!event->process || event->process->is_worker)
        return;
    struct course *course = course_of(state, event->process);
    if (event->kind == TC_EVENT_WINDOW)
        on_window(course, symbols, event, sink);
    else if (event->kind == TC_EVENT_CALL && !event->call->raised)
        follow(course, event->process, event->call);
    else if (event->kind == TC_EVENT_CHANGE && !event->call &&
             event->variable->kind == TC_SYM_PARAMETER && event->variable->requires_grad)
        course->is_spent = true;
}

static void between_propose(struct tc_strtab *symbols, tc_sym key,
                            const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.n_params = N_PARAMS, .support = TC_SUPPORT_LAW};

    (void)outcomes;
    for (size_t i = 0; i < N_RULES; i++) {
        const enum tc_role roles[N_PARAMS] = {rules[i].what, rules[i].from, rules[i].to};
        if (key_of_rule(symbols, &rules[i]) != key)
            continue;
        for (size_t j = 0; j < N_PARAMS; j++)
            h.params[j] = tc_param_call(TC_SYM_ANY, tc_symbols_role(symbols, roles[j]));
        tc_vec_push(&out->items, h);
    }
}

/* NULL if the params are those of no rule. */
static const struct rule *rule_of(const struct tc_strtab *symbols, const struct tc_param *params,
                                  size_t n_params)
{
    for (size_t i = 0; n_params == N_PARAMS && i < N_RULES; i++)
        if (tc_param_has_role(symbols, &params[0], rules[i].what) &&
            tc_param_has_role(symbols, &params[1], rules[i].from) &&
            tc_param_has_role(symbols, &params[2], rules[i].to))
            return &rules[i];
    return NULL;
}

static tc_sym between_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    const struct rule *rule = rule_of(symbols, params, n_params);

    return rule ? key_of_rule(symbols, rule) : TC_NO_SYM;
}

static enum tc_outcome between_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                     size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)symbols;
    (void)params;
    (void)n_params;
    return tc_outcome_has(outcome, n_outcome, TC_SYM_OUTSIDE) ? TC_HELD : TC_BROKEN;
}

static void between_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                             size_t n_params, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, rule_of(symbols, params, n_params)->sentence);
}

static void between_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                            const struct tc_event *event, const struct tc_example *example,
                            struct tc_strbuf *out)
{
    const struct tc_member_call *between = example->detail;

    (void)event;
    tc_describe_call(symbols, between->descriptor, out);
    tc_strbuf_adds(out, rule_of(symbols, invariant->params, invariant->n_params)->breach);
}

const struct tc_source tc_source_clearing = {
    .name = "clearing",
    .is_set = true,
    .open = between_open,
    .close = between_close,
    .observe = between_observe,
};

const struct tc_relation tc_api_sequence_between = {
    .name = "APISequence/between",
    .summary = "gradients are neither cleared before their step nor clipped before they are whole",
    .hint = "Does the call stand in the wrong place, or in the loop over micro-batches?",
    .fault = TC_FAULT_AT_BEGIN,
    .source = &tc_source_clearing,
    .propose = between_propose,
    .key = between_key,
    .holds = between_holds,
    .describe = between_describe,
    .explain = between_explain,
};
