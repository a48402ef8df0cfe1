/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence.c - APISequence/window: calls of the training loop, present and in order
 *
 *   window   every step window has all of them, in this order; or, if one is marked `given`,
 *            every step window that has that one has the others, in this order
 *
 * Ia comes before Ib if both its first and its last call of the window do, so the micro-batches
 * of an accumulated gradient are no disorder. It is judged when the window closes.
 * APISequence/between and EventContain/each cover the clearing of gradients.
 */
#include "relation/api_sequence.h"

#include <stdlib.h>
#include <string.h>

#include "invariant/describe.h"
#include "replay/symbols.h"

/* ---- holding ------------------------------------------------------------------------------- */

static enum tc_role role_of(const struct tc_strtab *symbols, const struct tc_param *param)
{
    return tc_role_parse(tc_symbols_text(symbols, param->role));
}

struct place {
    size_t first, last; /* first SIZE_MAX: absent */
    bool is_forward, is_backward, is_scheduler, is_clip;
};

static struct place place_of_token(tc_sym token, const tc_sym *outcome, size_t n)
{
    struct place place = {.first = SIZE_MAX};

    for (size_t i = 0; i < n; i++) {
        if (outcome[i] != token)
            continue;
        if (place.first == SIZE_MAX)
            place.first = i;
        place.last = i;
    }
    return place;
}

static struct place place_of_param(struct tc_strtab *symbols, const struct tc_param *param,
                                   const tc_sym *outcome, size_t n)
{
    struct place place = place_of_token(tc_token_of_param(symbols, param), outcome, n);

    place.is_forward = tc_param_has_role(symbols, param, TC_ROLE_FORWARD);
    place.is_backward = tc_param_has_role(symbols, param, TC_ROLE_BACKWARD);
    place.is_scheduler = tc_param_has_role(symbols, param, TC_ROLE_SCHEDULER);
    place.is_clip = tc_param_has_role(symbols, param, TC_ROLE_CLIP);
    return place;
}

/* A model may be asked again at any time, and work may go on after a schedule, with another
 * optimizer: there Ia has only to have begun before. Of a clipping likewise, as another model may
 * be trained before it and after it: what stands before has to have begun, what follows to come. A
 * loss may end at what a forward without gradients made, and the forward with gradients come after
 * its backward: one backward has to follow that. */
static bool is_before(struct place a, struct place b)
{
    bool begins = (a.is_clip && !b.is_scheduler) ||
                  a.first < (a.is_forward && b.is_backward ? b.last : b.first);
    bool ends = a.is_forward || b.is_scheduler || b.is_clip || a.last < b.last;

    return begins && ends;
}

static bool has_role(struct tc_strtab *symbols, enum tc_role role, const tc_sym *outcome, size_t n)
{
    struct tc_param param;

    for (size_t i = 0; i < n; i++)
        if (tc_param_of_token(symbols, outcome[i], &param) &&
            tc_param_has_role(symbols, &param, role))
            return true;
    return false;
}

static bool has_token(const tc_sym *outcome, size_t n_outcome, tc_sym token)
{
    return place_of_token(token, outcome, n_outcome).first != SIZE_MAX;
}

/* Why a forward is not missing. A step without any is that of a script that computes its loss
 * without calling a model; one in training mode is not wanted where the norms are frozen by hand
 * and mode. */
static enum tc_excuse excuse_of_forward(struct tc_strtab *symbols, const struct tc_param *param,
                                        const tc_sym *outcome, size_t n_outcome)
{
    enum tc_role role = role_of(symbols, param);

    if (role != TC_ROLE_FORWARD)
        return TC_EXCUSE_NONE;
    if (has_token(outcome, n_outcome, tc_window_rests(symbols)))
        return TC_EXCUSE_FROZEN_NORMS;
    return has_role(symbols, role, outcome, n_outcome) ||
                   has_token(outcome, n_outcome, tc_window_asked(symbols))
               ? TC_EXCUSE_NONE
               : TC_EXCUSE_NO_MODEL;
}

/* Has a script like this one no use for the call? */
static bool is_unused(struct tc_strtab *symbols, const struct tc_param *param,
                      const tc_sym *outcome, size_t n_outcome)
{
    return tc_window_is_optional(role_of(symbols, param)) &&
           !has_token(outcome, n_outcome, tc_known_class(symbols, param->name));
}

/* Of a script that has no use for one of the calls it says nothing; what remains is said by others.
 */
static enum tc_outcome window_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                    size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    enum tc_outcome result = TC_HELD;
    struct place before = {.first = SIZE_MAX};
    enum tc_excuse passed_over = TC_EXCUSE_NONE;

    for (size_t i = 0; i < n_params; i++) {
        struct place place = place_of_param(symbols, &params[i], outcome, n_outcome);
        if (place.first == SIZE_MAX) {
            enum tc_excuse excuse = excuse_of_forward(symbols, &params[i], outcome, n_outcome);
            if (params[i].given)
                return TC_UNDECIDED;
            if (is_unused(symbols, &params[i], outcome, n_outcome))
                return TC_EXCUSED_UNUSED;
            if (excuse) {
                passed_over = excuse;
                continue;
            }
            result = TC_BROKEN;
        } else if (before.first != SIZE_MAX && !is_before(before, place)) {
            result = TC_BROKEN;
        }
        before = place;
    }
    return passed_over && result != TC_BROKEN ? tc_excused_by(passed_over) : result;
}

static tc_sym window_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    for (size_t i = 0; i < n_params; i++)
        if (params[i].kind != TC_PARAM_CALL || params[i].role == TC_SYM_EMPTY)
            return TC_NO_SYM;
    (void)symbols;
    return TC_SYM_STEP_WINDOW;
}

/* ---- hypotheses ---------------------------------------------------------------------------- */

struct proposal {
    struct tc_strtab *symbols;
    const struct tc_outcomes *outcomes;
    struct tc_hypotheses *out;
};

/* Is a call in every step, or at the end of an epoch only, or never? A choice. */
static bool has_own_rhythm(const struct proposal *p, const struct tc_param *param)
{
    return tc_param_has_role(p->symbols, param, TC_ROLE_SCHEDULER) ||
           tc_param_has_role(p->symbols, param, TC_ROLE_CLIP);
}

static void propose_one(const struct proposal *p, const tc_sym *tokens, const bool *given, size_t n)
{
    struct tc_hypothesis hypothesis = {.n_params = n, .support = TC_SUPPORT_USAGE};
    bool has_rhythm = false, is_given = false;

    for (size_t i = 0; i < n; i++) {
        tc_param_of_token(p->symbols, tokens[i], &hypothesis.params[i]);
        hypothesis.params[i].given = given[i];
        if (given[i] || tc_param_has_role(p->symbols, &hypothesis.params[i], TC_ROLE_COLLECTIVE))
            hypothesis.support = TC_SUPPORT_COIN; /* where it reduces, what it does beside a call */
        has_rhythm |= !given[i] && has_own_rhythm(p, &hypothesis.params[i]);
        is_given |= given[i];
    }
    if (has_rhythm && !is_given)
        hypothesis.support = TC_SUPPORT_HABIT;
    tc_vec_push(&p->out->items, hypothesis);
}

/* How two members stand to each other over all outcomes. */
struct pair_facts {
    bool ever_both, ever_ordered; /* a and b in one window; a before b in one */
    bool a_alone, b_alone;
};

static struct pair_facts pair_facts(const struct proposal *p, tc_sym a, tc_sym b)
{
    const struct tc_outcomes *outcomes = p->outcomes;
    struct pair_facts facts = {0};
    struct tc_param first, second;

    if (!tc_param_of_token(p->symbols, a, &first) || !tc_param_of_token(p->symbols, b, &second))
        return facts;
    for (size_t i = 0; i < outcomes->n; i++) {
        const tc_sym *outcome = outcomes->outcome[i];
        struct place x = place_of_param(p->symbols, &first, outcome, outcomes->n_outcome[i]);
        struct place y = place_of_param(p->symbols, &second, outcome, outcomes->n_outcome[i]);
        bool has_x = x.first != SIZE_MAX, has_y = y.first != SIZE_MAX;
        facts.ever_both |= has_x && has_y;
        facts.ever_ordered |= has_x && has_y && is_before(x, y);
        facts.a_alone |= has_x && !has_y;
        facts.b_alone |= has_y && !has_x;
    }
    return facts;
}

/* Presence of each, order of two; and what always goes before or after one that is not always
 * there. */
static void propose_pair(const struct proposal *p, tc_sym a, tc_sym b, bool a_always, bool b_always)
{
    const tc_sym tokens[] = {a, b};
    struct pair_facts facts = pair_facts(p, a, b);

    if (!facts.ever_ordered)
        return;
    propose_one(p, tokens, (const bool[]){false, false}, 2);
    if (!b_always && !facts.b_alone)
        propose_one(p, tokens, (const bool[]){false, true}, 2);
    if (!a_always && !facts.a_alone)
        propose_one(p, tokens, (const bool[]){true, false}, 2);
}

/* Whether gradients were cleared is what EventContain/each asks, however it is done; where is each
 * script's choice, as long as APISequence/between holds. */
static bool is_member(struct tc_strtab *symbols, tc_sym token)
{
    struct tc_param param;

    return tc_param_of_token(symbols, token, &param) &&
           !tc_param_has_role(symbols, &param, TC_ROLE_ZERO_GRAD);
}

static void collect_members(struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                            struct tc_tokens *members)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++)
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++)
            if (tc_is_first(&seen, outcomes->outcome[i][j]) &&
                is_member(symbols, outcomes->outcome[i][j]))
                tc_vec_push(members, outcomes->outcome[i][j]);
    tc_map_release(&seen);
}

static bool is_always_there(const struct tc_outcomes *outcomes, tc_sym token)
{
    for (size_t i = 0; i < outcomes->n; i++)
        if (place_of_token(token, outcomes->outcome[i], outcomes->n_outcome[i]).first == SIZE_MAX)
            return false;
    return true;
}

/* Pairs are quadratic: a loop with more kinds of members than this is no loop an invariant could
 * explain. */
#define MAX_MEMBERS 64

static void window_propose(struct tc_strtab *symbols, tc_sym key,
                           const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    struct proposal p = {symbols, outcomes, out};
    struct tc_tokens members = {0};
    bool always[MAX_MEMBERS];

    (void)key;
    collect_members(symbols, outcomes, &members);
    size_t n = members.n < MAX_MEMBERS ? members.n : MAX_MEMBERS;
    for (size_t i = 0; i < n; i++) {
        always[i] = is_always_there(outcomes, members.items[i]);
        propose_one(&p, &members.items[i], (const bool[]){false}, 1);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                propose_pair(&p, members.items[i], members.items[j], always[i], always[j]);
    tc_vec_release(&members);
}

/* ---- words --------------------------------------------------------------------------------- */

static void describe_calls(const struct tc_strtab *symbols, const struct tc_param *params,
                           size_t n_params, struct tc_strbuf *out)
{
    for (size_t i = 0; i < n_params; i++) {
        tc_strbuf_adds(out, tc_describe_join(i, n_params));
        tc_describe_call(symbols, params[i].name, out);
    }
}

/* "LRScheduler.step() comes only after Optimizer.step() in a training step" */
static void describe_given(const struct tc_strtab *symbols, const struct tc_param *params,
                           size_t n_params, size_t given, struct tc_strbuf *out)
{
    tc_describe_call(symbols, params[given].name, out);
    if (given > 0) {
        tc_strbuf_adds(out, " comes only after ");
        describe_calls(symbols, params, given, out);
    }
    if (given + 1 < n_params) {
        tc_strbuf_adds(out, given > 0 ? ", and is followed by " : " is followed by ");
        describe_calls(symbols, params + given + 1, n_params - given - 1, out);
    }
    tc_strbuf_adds(out, " in every training step that has it");
}

static void window_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                            size_t n_params, struct tc_strbuf *out)
{
    for (size_t i = 0; i < n_params; i++) {
        if (params[i].given) {
            describe_given(symbols, params, n_params, i, out);
            return;
        }
    }
    tc_strbuf_adds(out, "every training step has ");
    describe_calls(symbols, params, n_params, out);
    if (n_params > 1)
        tc_strbuf_adds(out, ", in this order");
}

/* Returns whether a forward in training mode is. */
static bool explain_missing(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                            const struct tc_example *example, struct tc_strbuf *out)
{
    bool is_training = false;
    size_t n = 0;

    for (size_t i = 0; i < invariant->n_params; i++) {
        const struct tc_param *param = &invariant->params[i];
        if (place_of_param(symbols, param, example->outcome, example->n_outcome).first !=
                SIZE_MAX ||
            excuse_of_forward(symbols, param, example->outcome, example->n_outcome))
            continue;
        tc_strbuf_adds(out, n++ ? " and " : "");
        tc_describe_call(symbols, param->name, out);
        is_training |= param->name == TC_SYM_TRAINING_FORWARD;
    }
    if (n)
        tc_strbuf_adds(out, n == 1 ? " is missing; " : " are missing; ");
    return is_training;
}

/* Of a step of many micro-batches the first are recorded. */
#define SHOWN_CALLS 8

static void window_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           const struct tc_event *event, const struct tc_example *example,
                           struct tc_strbuf *out)
{
    (void)event;
    const bool is_training = explain_missing(symbols, invariant, example, out);
    tc_strbuf_adds(out, "the step has ");
    struct tc_param param;
    size_t n = 0;
    for (; n < example->n_outcome && tc_param_of_token(symbols, example->outcome[n], &param); n++) {
        if (n >= SHOWN_CALLS)
            continue;
        tc_strbuf_adds(out, n ? ", " : "");
        tc_describe_call(symbols, param.name, out);
    }
    if (n > SHOWN_CALLS)
        tc_strbuf_addf(out, " and %zu more", n - SHOWN_CALLS);
    if (is_training && example->detail) {
        tc_strbuf_adds(out, "; the mode was set last");
        tc_explain_place(symbols, example->detail, out);
    }
}

const struct tc_relation tc_api_sequence_window = {
    .name = "APISequence/window",
    .summary = "every training step has these calls, in this order",
    .hint = "Is the call missing, or made at another place of the training loop?",
    .fault = TC_FAULT_MISSING,
    .source = &tc_source_window,
    .propose = window_propose,
    .key = window_key,
    .holds = window_holds,
    .describe = window_describe,
    .explain = window_explain,
};
