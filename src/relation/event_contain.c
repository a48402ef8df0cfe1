/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain.c - EventContain(Ea, Eb): Eb happens inside the call Ea
 *
 *   some   Eb is a call, or a change of at least one variable of a kind
 *   none   Eb is a change, and never happens there
 *
 * It is judged when Ea returns. A call that raised is not judged.
 */
#include "relation/form.h"
#include "relation/third_time.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* ---- some ---------------------------------------------------------------------------------- */

/* What EventContain/sets speaks of. */
static bool is_setting(const struct tc_strtab *symbols, tc_atom atom)
{
    const tc_sym first = tc_atom_first(symbols, atom);

    return first == TC_SYM_SET || first == TC_SYM_SET_IDLE;
}

#define MAX_CONTENTS 512

/* The class of gradient that a variable had when the call began. */
static tc_sym grad_before(const struct tc_variable *v, const struct tc_call *call)
{
    return v->grad_cause >= call->id ? v->grad_before : v->grad;
}

struct gradients {
    bool any, overflow;          /* one; one that is not finite */
    bool any_whole, any_sharded; /* a parameter that is trained, by what is here */
    bool any_after, any_zero;    /* one when the call ends; one that was computed to be zero */
};

static void count_gradient(struct gradients *g, const struct tc_variable *v,
                           const struct tc_call *call)
{
    if (!v || v->kind != TC_SYM_PARAMETER || !v->requires_grad)
        return;
    tc_sym grad = grad_before(v, call);
    g->any |= grad != TC_SYM_GRAD_NULL && grad != TC_SYM_ZERO;
    g->overflow |= grad == TC_SYM_NAN_OR_INF;
    g->any_after |= v->grad != TC_SYM_GRAD_NULL && v->grad != TC_SYM_ZERO;
    g->any_zero |= v->grad == TC_SYM_ZERO && v->is_zero_computed;
    *(v->is_sharded ? &g->any_sharded : &g->any_whole) = true;
}

/* Of the parameters that the receiver owns, or of all, when the call began and when it ended. */
static struct gradients gradients_around(const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    struct gradients g = {0};
    const struct tc_variable *v;

    for (size_t i = 0; i < call->n_params; i++)
        count_gradient(&g, tc_process_variable(event->process, call->params[i]), call);
    for (size_t pos = 0; !call->n_params && (v = tc_map_next(&event->process->variables, &pos));)
        count_gradient(&g, v, call);
    return g;
}

struct contents_state {
    struct tc_map lines; /* (process, call, line of the script) → struct line * */
    struct tc_map asked; /* (process, root) that has run */
    struct tc_map taken; /* process → line at which state was taken since the last step or load */
    struct tc_map ran;   /* process → 1: models ran without gradients since its last step; 2: one
                            ran with them */
};

/* What the gradients of one line of the script were. */
struct line {
    bool is_flat;             /* none that was not zero, since the step of that number */
    uint64_t n_given, n_flat; /* calls that gave one, and that were flat */
    int64_t flat_since;
};

static void contents_release(void *state)
{
    struct contents_state *s = state;

    tc_map_release_structs(&s->lines);
    tc_map_release(&s->asked);
    tc_map_release(&s->taken);
    tc_map_release(&s->ran);
}

/* Does a load perhaps give what is there? So it is where an early stop goes back to the best, which
 * is the last. Where one line takes state and loads it there is no doubt. */
static bool is_as_taken(const struct contents_state *s, const struct tc_event *event)
{
    uint64_t line;

    return event->call->role == TC_ROLE_LOAD &&
           tc_map_get(&s->taken, (uintptr_t)event->process, &line) &&
           line != tc_call_at(event->call);
}

/* Who caches what a model returns asks it without gradients, and propagates to the cache: what that
 * backward gives no parameter, another one of the step gives. */
static void follow_forwards(struct contents_state *s, const struct tc_event *event)
{
    const uint64_t process = (uintptr_t)event->process;
    uint64_t ran = 0;

    if (event->call->role == TC_ROLE_STEP) {
        tc_map_remove(&s->ran, process);
    } else if (event->call->is_root) {
        tc_map_get(&s->ran, process, &ran);
        tc_map_put(&s->ran, process, tc_value_get(event->call->ctx, "grad") && ran < 2 ? 1 : 2);
    }
}

/* Does it propagate to what models returned without gradients, as none ran with them? */
static bool is_to_a_cache(const struct contents_state *s, const struct tc_event *event)
{
    uint64_t ran;

    return event->call->role == TC_ROLE_BACKWARD &&
           tc_map_get(&s->ran, (uintptr_t)event->process, &ran) && ran == 1;
}

static void follow_state(struct contents_state *s, const struct tc_event *event)
{
    if (event->kind != TC_EVENT_CALL)
        return;
    follow_forwards(s, event);
    if (event->call->role == TC_ROLE_SAVE)
        tc_map_put(&s->taken, (uintptr_t)event->process, tc_call_at(event->call));
    else if (event->call->role == TC_ROLE_STEP || event->call->role == TC_ROLE_LOAD)
        tc_map_remove(&s->taken, (uintptr_t)event->process);
}

/* A model may set its weights by the first batch that it is given, as a flow with norms does. */
static bool is_first_forward(struct contents_state *s, const struct tc_event *event)
{
    const uint64_t who[] = {(uintptr_t)event->process, (uint64_t)tc_serial_of(event->call->self)};
    bool is_new = false;

    if (event->call->is_root)
        (void)tc_map_at(&s->asked, tc_hash64(who, sizeof(who), 0), &is_new);
    return is_new;
}

/* Did the call write to no parameters but those that no step has changed yet? They may start by the
 * first batch that needs them. */
static bool only_starts(const struct tc_event *event)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&event->process->variables, &pos));)
        if (v->kind == TC_SYM_PARAMETER && v->data_cause >= event->call->id && v->stepped >= 0 &&
            v->left_data != v->first_data)
            return false;
    return true;
}

/* Has some parameter a gradient that is not zero, be it of another optimizer? */
static bool has_gradient_elsewhere(const struct tc_event *event)
{
    struct gradients g = {0};
    const struct tc_variable *v;

    for (size_t pos = 0; !g.any && (v = tc_map_next(&event->process->variables, &pos));)
        count_gradient(&g, v, event->call);
    return g.any;
}

/* A batch may leave nothing to learn: rewards that are all alike, margins that are all kept. Were
 * all gradients computed to be zero, by a line that gave others before, more often or not for long?
 * A line that gave none yet stands behind a layer that starts at zero, if that layer has some. */
static bool is_flat(struct contents_state *s, const struct tc_event *event,
                    const struct gradients *g)
{
    const struct tc_call *call = event->call;
    const uint64_t who[] = {(uintptr_t)event->process, call->descriptor, tc_call_at(call)};

    if (!g->any_after && !g->any_zero)
        return false;
    struct line *line =
        tc_map_struct(&s->lines, tc_hash64(who, sizeof(who), 0), sizeof(struct line));
    if (!line->is_flat)
        line->flat_since = call->step;
    line->n_given += g->any_after;
    line->is_flat = !g->any_after && (line->n_given || has_gradient_elsewhere(event));
    line->n_flat += line->is_flat;
    return line->is_flat &&
           (call->step - line->flat_since < TC_THIRD_TIME - 1 || line->n_flat <= line->n_given);
}

/*
 * What is inside a root forward besides changes is the architecture, and the user's own business.
 * Marks tell what a missing change means:
 *   observed      variables were looked at: without it, nothing
 *   computes      the call only computes, and is looked at afterwards, so that it should change no
 *                 weight. Not a backward whose hooks step an optimizer
 *   grad_absent   no parameter that is trained had a gradient: one is to be made. Where some had,
 *                 they are accumulated, and need not come to any more. To a sharded one they come
 *                 only where ranks exchange them
 *   grad_present  some had one: to be cleared
 *   no_update     no weight is to be changed
 *   as_taken      what is loaded may be what is there
 *   overflow      a gradient was not finite: a gradient scaler leaves out the step, and nothing is
 *                 due. Nor is it of a scaler where no gradient is looked at
 *   flat          gradients were computed, and are zero
 */
static size_t contents_of(struct contents_state *s, struct tc_strtab *symbols,
                          const struct tc_event *event, const struct tc_situation *situation,
                          tc_sym out[MAX_CONTENTS])
{
    const struct tc_call *call = event->call;
    const bool is_observed = event->process->variables.n && !event->process->has_samples;
    const tc_atom change = TC_ATOM(symbols, TC_SYM_CHANGE, TC_SYM_PARAMETER, TC_SYM_DATA,
                                   TC_SYM_ABSENT, TC_SYM_CHANGED);
    const bool is_first = is_first_forward(s, event);
    size_t n = 0;

    if (is_observed) {
        struct gradients g = gradients_around(event);
        out[n++] = TC_SYM_OBSERVED;
        if ((call->is_root || call->role == TC_ROLE_BACKWARD) && !call->has_step)
            out[n++] = TC_SYM_COMPUTES;
        if (g.any && !call->is_pause)
            out[n++] = TC_SYM_GRAD_PRESENT;
        else if ((g.any_whole || !g.any_sharded) && !call->is_pause && !is_to_a_cache(s, event))
            out[n++] = TC_SYM_GRAD_ABSENT;
        if (g.overflow)
            out[n++] = TC_SYM_OVERFLOW;
        if (is_flat(s, event, &g))
            out[n++] = TC_SYM_FLAT;
    } else if (call->role == TC_ROLE_SCALER) {
        out[n++] = TC_SYM_OVERFLOW;
    }
    if (tc_has_no_rate(situation) || call->is_pause)
        out[n++] = TC_SYM_NO_UPDATE;
    if (is_as_taken(s, event))
        out[n++] = TC_SYM_AS_TAKEN;
    for (size_t i = 0; i < call->contents.n && n < MAX_CONTENTS; i++) {
        const tc_atom content = call->contents.items[i];
        if (call->is_root && content == change && (is_first || only_starts(event)))
            continue;
        if (call->is_root ? tc_atom_first(symbols, content) == TC_SYM_CHANGE
                          : !is_setting(symbols, content))
            out[n++] = content;
    }
    qsort(out, n, sizeof(*out), tc_sym_compare);
    return n;
}

static void some_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct tc_situation situation;
    tc_sym outcome[MAX_CONTENTS];

    if (tc_is_subject(event)) {
        tc_situation_of_call(&situation, symbols, event->process, event->call, true);
        tc_situation_sort(&situation);
        struct tc_example example = {
            .key = event->call->descriptor,
            .situation = &situation,
            .outcome = outcome,
            .n_outcome = contents_of(state, symbols, event, &situation, outcome),
            .excuses = event->call->is_pause ? TC_EXCUSE_BIT(TC_EXCUSE_PAUSE) : 0};
        sink->example(sink->context, event, &example);
    }
    follow_state(state, event);
}

/* An atom as a parameter; false if it is a mark. */
static bool param_of_atom(struct tc_strtab *symbols, tc_atom atom, struct tc_param *param)
{
    tc_sym words[5];

    if (tc_strtab_split(symbols, atom, words, 5) && words[0] == TC_SYM_CHANGE) {
        *param = tc_param_of(TC_PARAM_CHANGE, words[1], words[2], words[4]);
        param->role = TC_NO_SYM;
        param->from = words[3] == TC_SYM_ABSENT ? TC_NO_SYM : words[3];
        return true;
    }
    if (!tc_strtab_split(symbols, atom, words, 3) || words[0] != TC_SYM_CALL)
        return false;
    *param = tc_param_call(words[2], words[1]);
    return true;
}

static tc_atom atom_of_param(struct tc_strtab *symbols, const struct tc_param *param)
{
    if (param->kind == TC_PARAM_CALL)
        return TC_ATOM(symbols, TC_SYM_CALL, param->role, param->name);
    return TC_ATOM(symbols, TC_SYM_CHANGE, param->name, param->attr,
                   param->from == TC_NO_SYM ? TC_SYM_ABSENT : param->from, param->to);
}

static bool is_first_with(const struct tc_outcomes *outcomes, size_t i, tc_sym sym)
{
    while (i-- > 0)
        if (tc_outcome_has(outcomes->outcome[i], outcomes->n_outcome[i], sym))
            return false;
    return true;
}

/* That running statistics change proves nothing; that they stay is what EventContain/each learns.
 */
static bool is_change_of_buffer(const struct tc_param *param)
{
    return param->kind == TC_PARAM_CHANGE && param->name == TC_SYM_BUFFER;
}

static void some_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                         struct tc_hypotheses *out)
{
    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            tc_sym atom = outcomes->outcome[i][j];
            struct tc_hypothesis hypothesis = {.n_params = 2, .support = TC_SUPPORT_LAW};
            if (!is_first_with(outcomes, i, atom) ||
                !param_of_atom(symbols, atom, &hypothesis.params[1]) ||
                is_change_of_buffer(&hypothesis.params[1]))
                continue;
            hypothesis.params[0] = tc_param_call(key, TC_SYM_EMPTY);
            tc_vec_push(&out->items, hypothesis);
        }
    }
}

static tc_sym some_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    if (n_params != 2 || params[0].kind != TC_PARAM_CALL || params[1].kind == TC_PARAM_VARIABLE)
        return TC_NO_SYM;
    if (params[1].kind == TC_PARAM_CALL && params[1].role == TC_SYM_EMPTY)
        return TC_NO_SYM;
    return params[0].name;
}

/* By what was saved: see is_as_taken(). */
static bool is_excused(const struct tc_param *params)
{
    return params[1].kind == TC_PARAM_CHANGE && params[1].attr == TC_SYM_DATA;
}

/* Why a change that did not happen was not due; TC_EXCUSE_NONE if it was. */
static enum tc_excuse excuse_of_change(const struct tc_param *change, const tc_sym *outcome,
                                       size_t n)
{
    const bool is_given = change->attr == TC_SYM_GRAD && change->from == TC_SYM_CLEAR;

    if (!tc_outcome_has(outcome, n, TC_SYM_OBSERVED))
        return TC_EXCUSE_NOT_OBSERVED;
    if (is_given && !tc_outcome_has(outcome, n, TC_SYM_GRAD_ABSENT))
        return TC_EXCUSE_ACCUMULATED;
    if (change->attr == TC_SYM_GRAD && change->to == TC_SYM_CLEAR)
        return tc_outcome_has(outcome, n, TC_SYM_GRAD_PRESENT) ? TC_EXCUSE_NONE
                                                               : TC_EXCUSE_NOTHING_TO_CLEAR;
    if ((is_given || change->attr == TC_SYM_DATA) && tc_outcome_has(outcome, n, TC_SYM_FLAT))
        return TC_EXCUSE_FLAT_BATCH;
    if (change->attr == TC_SYM_DATA && tc_outcome_has(outcome, n, TC_SYM_AS_TAKEN))
        return TC_EXCUSE_AS_TAKEN;
    return change->attr == TC_SYM_DATA && tc_outcome_has(outcome, n, TC_SYM_NO_UPDATE)
               ? TC_EXCUSE_NO_RATE
               : TC_EXCUSE_NONE;
}

/* A call that is missing; a clearing of what is clear already is not. */
static enum tc_excuse excuse_of_call(const struct tc_param *call, const tc_sym *outcome, size_t n)
{
    return call->role == TC_SYM_ZERO_GRAD && tc_outcome_has(outcome, n, TC_SYM_OBSERVED) &&
                   tc_outcome_has(outcome, n, TC_SYM_GRAD_ABSENT)
               ? TC_EXCUSE_NOTHING_TO_CLEAR
               : TC_EXCUSE_NONE;
}

static enum tc_outcome some_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                  size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, atom_of_param(symbols, &params[1])))
        return TC_HELD;
    if (tc_outcome_has(outcome, n_outcome, TC_SYM_OVERFLOW))
        return TC_EXCUSED_OVERFLOW;
    const enum tc_excuse excuse = params[1].kind == TC_PARAM_CHANGE
                                      ? excuse_of_change(&params[1], outcome, n_outcome)
                                      : excuse_of_call(&params[1], outcome, n_outcome);
    return excuse ? tc_excused_by(excuse) : TC_BROKEN;
}

/* "changes data of", "sets requires_grad to false of", "gives a gradient to", "clears the gradient
 * of". */
static void describe_change(const struct tc_strtab *symbols, const struct tc_param *param,
                            struct tc_strbuf *out)
{
    if (param->attr == TC_SYM_GRAD && param->to == TC_SYM_CLEAR)
        tc_strbuf_adds(out, "clears the gradient of");
    else if (param->attr == TC_SYM_GRAD && param->from == TC_SYM_CLEAR)
        tc_strbuf_adds(out, "gives a gradient to");
    else if (param->to == TC_SYM_CHANGED)
        tc_strbuf_addf(out, "changes %s of", tc_strtab_text(symbols, param->attr));
    else
        tc_strbuf_addf(out, "turns %s to %s of", tc_strtab_text(symbols, param->attr),
                       tc_strtab_text(symbols, param->to));
}

static void some_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                          size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_addc(out, ' ');
    if (params[1].kind == TC_PARAM_CALL) {
        tc_strbuf_adds(out, "calls ");
        tc_describe_call(symbols, params[1].name, out);
        return;
    }
    describe_change(symbols, &params[1], out);
    tc_strbuf_addf(out, " at least one %s", tc_strtab_text(symbols, params[1].name));
}

static void explain_unchanged(const struct tc_strtab *symbols, const struct tc_param *param,
                              struct tc_strbuf *out)
{
    const char *kind = tc_strtab_text(symbols, param->name);

    if (param->attr == TC_SYM_GRAD && param->to == TC_SYM_CLEAR)
        tc_strbuf_addf(out, " cleared the gradient of no %s", kind);
    else if (param->attr == TC_SYM_GRAD)
        tc_strbuf_addf(out, " gave a gradient to no %s%s", kind,
                       param->from == TC_SYM_CLEAR ? " that had none" : "");
    else
        tc_strbuf_addf(out, " changed %s of no %s", tc_strtab_text(symbols, param->attr), kind);
}

struct state_count {
    size_t n, frozen, without;
};

static void count_state(struct state_count *count, const struct tc_variable *v)
{
    count->n++;
    count->frozen += !v->requires_grad;
    count->without += v->grad == TC_SYM_GRAD_NULL;
}

/* How many of the variables concerned are frozen and how many have no gradient: what most often
 * decides. A call that owns none may reach all of that kind. */
static void explain_state(const struct tc_event *event, const struct tc_strtab *symbols,
                          tc_sym kind, struct tc_strbuf *out)
{
    const struct tc_call *call = event->call;
    struct state_count count = {0};
    const struct tc_variable *v;

    for (size_t i = 0; i < call->n_params; i++)
        if ((v = tc_process_variable(event->process, call->params[i])))
            count_state(&count, v);
    for (size_t pos = 0; !call->n_params && (v = tc_map_next(&event->process->variables, &pos));) {
        if (v->kind == kind)
            count_state(&count, v);
    }
    if (!count.n)
        return;
    tc_strbuf_addf(out, "; %s %zu %s%s: %zu with requires_grad=false, %zu without a gradient",
                   call->n_params ? "it owns" : "there are", count.n,
                   call->n_params ? "variable" : tc_strtab_text(symbols, kind),
                   count.n == 1 ? "" : "s", count.frozen, count.without);
}

static void some_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                         const struct tc_event *event, const struct tc_example *example,
                         struct tc_strbuf *out)
{
    const struct tc_param *params = invariant->params;

    (void)example;
    tc_describe_call(symbols, params[0].name, out);
    tc_explain_receiver(event, out);
    if (params[1].kind == TC_PARAM_CALL) {
        tc_strbuf_adds(out, " did not call ");
        tc_describe_call(symbols, params[1].name, out);
        return;
    }
    explain_unchanged(symbols, &params[1], out);
    explain_state(event, symbols, params[1].name, out);
}

/* ---- none ---------------------------------------------------------------------------------- */

static bool ever_computes(const struct tc_outcomes *outcomes)
{
    for (size_t i = 0; i < outcomes->n; i++)
        if (tc_outcome_has(outcomes->outcome[i], outcomes->n_outcome[i], TC_SYM_COMPUTES))
            return true;
    return false;
}

/* The change that would matter wherever it came from: of the weights. That other calls leave them
 * alone is what EventContain/each says of the time between two steps. */
static void none_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                         struct tc_hypotheses *out)
{
    struct tc_hypothesis hypothesis = {.n_params = 2, .support = TC_SUPPORT_LAW};

    if (!ever_computes(outcomes))
        return;
    hypothesis.params[0] = tc_param_call(key, TC_SYM_EMPTY);
    hypothesis.params[1] =
        tc_param_of(TC_PARAM_CHANGE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_CHANGED);
    (void)symbols;
    tc_vec_push(&out->items, hypothesis);
}

static tc_sym none_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    tc_sym key = some_key(symbols, params, n_params);

    return key != TC_NO_SYM && params[1].kind == TC_PARAM_CHANGE ? key : TC_NO_SYM;
}

static enum tc_outcome none_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                  size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    if (!tc_outcome_has(outcome, n_outcome, TC_SYM_COMPUTES))
        return tc_outcome_has(outcome, n_outcome, TC_SYM_OBSERVED) ? TC_EXCUSED_STEP_INSIDE
                                                                   : TC_EXCUSED_NOT_OBSERVED;
    enum tc_outcome some = some_holds(symbols, params, n_params, outcome, n_outcome);
    if (tc_is_undecided(some) && some != TC_EXCUSED_FLAT_BATCH)
        return some;
    return some == TC_HELD ? TC_BROKEN : TC_HELD;
}

static void none_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                          size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_addc(out, ' ');
    describe_change(symbols, &params[1], out);
    tc_strbuf_addf(out, " no %s", tc_strtab_text(symbols, params[1].name));
}

static void none_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                         const struct tc_event *event, const struct tc_example *example,
                         struct tc_strbuf *out)
{
    (void)example;
    tc_describe_call(symbols, invariant->params[0].name, out);
    tc_explain_receiver(event, out);
    tc_strbuf_addf(out, " changed %s of at least one %s",
                   tc_strtab_text(symbols, invariant->params[1].attr),
                   tc_strtab_text(symbols, invariant->params[1].name));
}

const struct tc_source tc_source_contents = {
    .name = "contents",
    .judged = "the return of a call of the training loop",
    .is_set = true,
    .state_size = sizeof(struct contents_state),
    .release = contents_release,
    .observe = some_observe,
    .condense = tc_contain_condense,
};

const struct tc_relation tc_event_contain_some = {
    .name = "EventContain/some",
    .summary = "a call always makes another call, or changes at least one variable of a kind",
    .hint =
        "Do the variables concerned require gradients, receive them, and belong to this receiver?",
    .source = &tc_source_contents,
    .excused_by = 1u << TC_ROLE_SAVE | 1u << TC_ROLE_LOAD | 1u << TC_ROLE_STEP,
    .is_excused = is_excused,
    .propose = some_propose,
    .key = some_key,
    .holds = some_holds,
    .describe = some_describe,
    .explain = some_explain,
};

const struct tc_relation tc_event_contain_none = {
    .name = "EventContain/none",
    .summary = "a call never changes any variable of a kind",
    .hint = "What in this call writes to the weights?",
    .source = &tc_source_contents,
    .propose = none_propose,
    .key = none_key,
    .holds = none_holds,
    .describe = none_describe,
    .explain = none_explain,
};
