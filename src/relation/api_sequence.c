/*
 * api_sequence.c - APISequence(Ia, Ib, ...): calls of the training loop, present and in order
 *
 *   window   every step window has all of them, in this order; or, where one is marked `given`,
 * every step window that has that one has the others, in this order
 *
 * Ia stands before Ib when both its first and its last call of the window do, so that the
 * micro-batches of an accumulated gradient are no disorder. Judged when the window closes.
 */
#include "relation/form.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* ---- examples ------------------------------------------------------------------------------ */

static tc_sym window_key_sym(struct tc_strtab *symbols)
{
    return tc_strtab_intern_text(symbols, "step window");
}

static struct tc_param param_of_token(struct tc_strtab *symbols, tc_sym token, bool given)
{
    const char *text = tc_strtab_text(symbols, token);
    const char *space = strchr(text, ' ');

    struct tc_param param = tc_param_call(tc_strtab_intern_text(symbols, space + 1),
                                          tc_strtab_intern(symbols, text, (size_t)(space - text)));
    param.given = given;
    return param;
}

struct tc_tokens {
    tc_sym *items;
    size_t n, cap;
};

/* Of each member its first and its last call: all that order asks, however often it was called
 * between. */
static void normalise(struct tc_strtab *symbols, const struct tc_window *window,
                      struct tc_tokens *out)
{
    struct tc_map last = TC_MAP_INIT, seen = TC_MAP_INIT;
    struct tc_tokens all = {0};

    for (size_t i = 0; i < window->members.n; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        tc_sym token = member->is_void
                           ? TC_NO_SYM
                           : tc_token_of(symbols, tc_role_text(member->role), member->descriptor);
        tc_vec_push(&all, token);
        tc_map_put(&last, token, i);
    }
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

static void set_situation(struct tc_situation *s, struct tc_strtab *symbols,
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

static void window_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    struct tc_situation situation;
    struct tc_tokens tokens = {0};

    (void)state;
    if (event->kind != TC_EVENT_WINDOW || !event->window->has_step || event->process->is_worker)
        return;
    set_situation(&situation, symbols, event);
    normalise(symbols, event->window, &tokens);
    struct tc_example example = {.key = window_key_sym(symbols),
                                 .situation = &situation,
                                 .outcome = tokens.items,
                                 .n_outcome = tokens.n};
    sink->example(sink->context, event, &example);
    tc_vec_release(&tokens);
}

/* ---- holding ------------------------------------------------------------------------------- */

struct place {
    size_t first, last; /* first SIZE_MAX: absent */
};

static struct place place_of(tc_sym token, const tc_sym *outcome, size_t n)
{
    struct place place = {SIZE_MAX, 0};

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
    return place_of(tc_token_of(symbols, tc_strtab_text(symbols, param->role), param->name),
                    outcome, n);
}

static bool has_role(const struct tc_strtab *symbols, const struct tc_param *param,
                     enum tc_role role)
{
    return !strcmp(tc_strtab_text(symbols, param->role), tc_role_text(role));
}

/* A model may be asked again at any time: a forward has only to have begun before. */
static bool is_before(struct place a, struct place b, bool is_forward)
{
    return a.first < b.first && (is_forward || a.last < b.last);
}

static enum tc_outcome window_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                    size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    enum tc_outcome result = TC_HELD;
    struct place before = {0};

    for (size_t i = 0; i < n_params; i++) {
        struct place place = place_of_param(symbols, &params[i], outcome, n_outcome);
        if (place.first == SIZE_MAX) {
            if (params[i].given)
                return TC_UNDECIDED;
            result = TC_BROKEN;
        } else if (i > 0 && before.first != SIZE_MAX &&
                   !is_before(before, place, has_role(symbols, &params[i - 1], TC_ROLE_FORWARD))) {
            result = TC_BROKEN;
        }
        before = place;
    }
    return result;
}

static tc_sym window_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    for (size_t i = 0; i < n_params; i++)
        if (params[i].kind != TC_PARAM_CALL || params[i].role == TC_SYM_EMPTY)
            return TC_NO_SYM;
    return window_key_sym(symbols);
}

/* ---- hypotheses ---------------------------------------------------------------------------- */

/* A coin that falls the same way seven times is less than 1 %: what each pipeline chooses for
 * itself, where it reduces or what it does beside a call that not every step has, needs as many. */
#define MIN_PIPELINES        4
#define MIN_PIPELINES_CHOSEN 7

struct proposal {
    struct tc_strtab *symbols;
    const struct tc_outcomes *outcomes;
    struct tc_hypotheses *out;
};

static void propose_one(const struct proposal *p, const tc_sym *tokens, const bool *given, size_t n)
{
    struct tc_hypothesis hypothesis = {.n_params = n, .min_pipelines = MIN_PIPELINES};

    for (size_t i = 0; i < n; i++) {
        hypothesis.params[i] = param_of_token(p->symbols, tokens[i], given[i]);
        if (given[i] || has_role(p->symbols, &hypothesis.params[i], TC_ROLE_COLLECTIVE))
            hypothesis.min_pipelines = MIN_PIPELINES_CHOSEN;
    }
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
    const struct tc_param first = param_of_token(p->symbols, a, false);
    const bool forward = has_role(p->symbols, &first, TC_ROLE_FORWARD);
    struct pair_facts facts = {0};

    for (size_t i = 0; i < outcomes->n; i++) {
        struct place x = place_of(a, outcomes->outcome[i], outcomes->n_outcome[i]);
        struct place y = place_of(b, outcomes->outcome[i], outcomes->n_outcome[i]);
        bool has_x = x.first != SIZE_MAX, has_y = y.first != SIZE_MAX;
        facts.ever_both |= has_x && has_y;
        facts.ever_ordered |= has_x && has_y && is_before(x, y, forward);
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

static void collect_members(const struct tc_outcomes *outcomes, struct tc_tokens *members)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            bool is_new;
            tc_map_at(&seen, outcomes->outcome[i][j], &is_new);
            if (is_new)
                tc_vec_push(members, outcomes->outcome[i][j]);
        }
    }
    tc_map_release(&seen);
}

static bool is_always_there(const struct tc_outcomes *outcomes, tc_sym token)
{
    for (size_t i = 0; i < outcomes->n; i++)
        if (place_of(token, outcomes->outcome[i], outcomes->n_outcome[i]).first == SIZE_MAX)
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
    collect_members(outcomes, &members);
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

/* ---- joining into chains ------------------------------------------------------------------- */

static bool is_single(const struct tc_invariant *i)
{
    return i->n_params == 1;
}

static bool has_given(const struct tc_invariant *x)
{
    for (size_t i = 0; i < x->n_params; i++)
        if (x->params[i].given)
            return true;
    return false;
}

static bool is_plain_pair(const struct tc_invariant *i)
{
    return i->n_params == 2 && !has_given(i);
}

static bool is_edge(const struct tc_invariant_set *set, const struct tc_invariant *like,
                    tc_sym from, tc_sym to)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (is_plain_pair(x) && x->params[0].name == from && x->params[1].name == to &&
            tc_invariant_same_when(x, like))
            return true;
    }
    return false;
}

/* Is the order of this pair implied by two others of the same precondition? */
static bool is_transitive(const struct tc_invariant_set *set, const struct tc_invariant *pair)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x != pair && is_plain_pair(x) && tc_invariant_same_when(x, pair) &&
            x->params[0].name == pair->params[0].name &&
            is_edge(set, pair, x->params[1].name, pair->params[1].name))
            return true;
    }
    return false;
}

/* A pair around a given call is implied by a nearer one: a before the given b, when also a nearer c
 * is and a stands before c always, or wherever c is. */
static bool is_farther(const struct tc_invariant_set *set, const struct tc_invariant *pair)
{
    size_t g = pair->params[1].given;

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x == pair || x->n_params != 2 || !x->params[g].given ||
            x->params[g].name != pair->params[g].name || !tc_invariant_same_when(x, pair))
            continue;
        for (size_t j = 0; j < set->items.n; j++) {
            const struct tc_invariant *y = set->items.items[j];
            tc_sym from = g ? pair->params[0].name : x->params[1].name;
            tc_sym to = g ? x->params[0].name : pair->params[1].name;
            if (y->n_params == 2 && (!has_given(y) || y->params[g].given) &&
                (y->n_when == 0 || tc_invariant_same_when(y, pair)) && y->params[0].name == from &&
                y->params[1].name == to)
                return true;
        }
    }
    return false;
}

/* Two calls that only come together need one invariant: the one that waits for the later. */
static bool is_mirrored(const struct tc_invariant_set *set, const struct tc_invariant *pair)
{
    if (!pair->params[0].given)
        return false;
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x->n_params == 2 && x->params[1].given && tc_invariant_same_when(x, pair) &&
            x->params[0].name == pair->params[0].name && x->params[1].name == pair->params[1].name)
            return true;
    }
    return false;
}

static void drop_implied(struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (is_plain_pair(x))
            drop[i] = is_transitive(set, x);
        else if (!is_single(x))
            drop[i] = is_farther(set, x) || is_mirrored(set, x);
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

/* An invariant that begins where this one ends, under the same precondition. Where one of the two
 * waits for a call, they must share it: a plain chain must not be made to wait. */
static size_t find_next(const struct tc_invariant_set *set, const bool *drop, size_t from)
{
    const struct tc_invariant *x = set->items.items[from];
    const struct tc_param *end = &x->params[x->n_params - 1];

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *next = set->items.items[i];
        if (i != from && !drop[i] && next->n_params >= 2 && next->params[0].name == end->name &&
            next->params[0].given == end->given && tc_invariant_same_when(next, x) &&
            (end->given || (!has_given(x) && !has_given(next))) &&
            x->n_params + next->n_params - 1 <= TC_MAX_PARAMS)
            return i;
    }
    return SIZE_MAX;
}

/* Append pairs to pairs until no end meets a beginning. */
static void join_pairs(struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        struct tc_invariant *x = set->items.items[i];
        if (drop[i] || is_single(x))
            continue;
        for (size_t j; (j = find_next(set, drop, i)) != SIZE_MAX;) {
            const struct tc_invariant *next = set->items.items[j];
            for (size_t k = 1; k < next->n_params; k++)
                x->params[x->n_params++] = next->params[k];
            drop[j] = true;
        }
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

/* A call that a longer chain of the same precondition has needs no invariant of its own. */
static void drop_singles(struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        for (size_t j = 0; is_single(x) && j < set->items.n; j++) {
            const struct tc_invariant *y = set->items.items[j];
            if (is_single(y) || has_given(y) || !tc_invariant_same_when(x, y))
                continue;
            for (size_t k = 0; k < y->n_params; k++)
                drop[i] |= y->params[k].name == x->params[0].name;
        }
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

static void window_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted)
{
    (void)rows;
    tc_invariant_set_sort(accepted);
    drop_implied(accepted);
    join_pairs(accepted);
    drop_singles(accepted);
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

static void explain_missing(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                            const struct tc_example *example, struct tc_strbuf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < invariant->n_params; i++) {
        const struct tc_param *param = &invariant->params[i];
        if (place_of_param(symbols, param, example->outcome, example->n_outcome).first != SIZE_MAX)
            continue;
        tc_strbuf_adds(out, n++ ? " and " : "");
        tc_describe_call(symbols, param->name, out);
    }
    if (n)
        tc_strbuf_adds(out, n == 1 ? " is missing; " : " are missing; ");
}

static void window_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           const struct tc_event *event, const struct tc_example *example,
                           struct tc_strbuf *out)
{
    (void)event;
    explain_missing(symbols, invariant, example, out);
    tc_strbuf_adds(out, "the step has ");
    for (size_t i = 0; i < example->n_outcome; i++) {
        struct tc_param param = param_of_token(symbols, example->outcome[i], false);
        tc_strbuf_adds(out, i ? ", " : "");
        tc_describe_call(symbols, param.name, out);
    }
}

const struct tc_source tc_source_window = {
    .name = "window",
    .observe = window_observe,
    .condense = window_condense,
};

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
