/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_within.c - what a model trains with: who made it
 *
 *   EventContain/within     certain calls made it
 *   EventContain/restored   what the script put in for an evaluation, it took out again
 *
 * It is about parameters that are trained. There is an example for each change of the content
 * inside a call that has a part in a training loop; calls around whole loops have none. A change
 * from elsewhere is an example without a call, once a root trains with it. Weights that were
 * swapped, and swapped back before that, count as never changed.
 */
#include "relation/claims.h"
#include "relation/consistent.h"

#include <stdlib.h>
#include <string.h>

#include "invariant/describe.h"
#include "replay/symbols.h"

/* ---- examples ------------------------------------------------------------------------------ */

static tc_sym key_sym(struct tc_strtab *symbols)
{
    return TC_ATOM(symbols, TC_SYM_CHANGE, TC_SYM_PARAMETER, TC_SYM_DATA);
}

static tc_sym swap_sym(struct tc_strtab *symbols)
{
    return TC_ATOM(symbols, TC_SYM_SWAP, TC_SYM_PARAMETER, TC_SYM_DATA);
}

static bool may_change_weights(const struct tc_call *call)
{
    return call->is_root || call->role == TC_ROLE_INIT || call->role == TC_ROLE_REPLAY ||
           (tc_role_has(call->role, TC_TRAIT_SUBJECT) && !tc_role_has(call->role, TC_TRAIT_OUTER));
}

static const struct tc_call *call_around(const struct tc_call *call)
{
    while (call && !may_change_weights(call))
        call = call->parent;
    return call;
}

/* A variable whose content the script itself has made. */
struct foreign {
    int64_t serial;
    size_t n_known;     /* variables of the process when it was written to */
    bool was_evaluated; /* the first to use it was a forward that does not train */
    int64_t evaluated;  /* the last of these */
    bool was_replaced;  /* and then the script wrote to it again */
};

/* The content that the last of such calls left, or that was found behind a gap of sampling. */
struct left {
    uint64_t data;
    unsigned n_gaps; /* of the process */
};

/* Of one process. */
struct within_state {
    struct tc_map left; /* variable → struct left * */
    TC_VEC(struct foreign) foreign;
    bool is_writer; /* its script writes to weights as a part of training, as one that clamps or
                       masks them after each step: it does so before an evaluation, too */
};

static void within_release(void *of_process)
{
    struct within_state *s = of_process;

    tc_map_release_structs(&s->left);
    tc_vec_release(&s->foreign);
}

static struct left *left_of(struct within_state *s, const struct tc_event *event)
{
    const uint64_t key = (uint64_t)event->variable->serial;
    const bool is_new = !tc_map_get(&s->left, key, &(uint64_t){0});
    struct left *left = tc_map_struct(&s->left, key, sizeof(*left));

    if (is_new)
        left->data = event->variable->first_data;
    return left;
}

static struct foreign *find_foreign(struct within_state *s, const struct tc_event *event)
{
    for (size_t i = 0; i < s->foreign.n; i++)
        if (s->foreign.items[i].serial == event->variable->serial)
            return &s->foreign.items[i];
    return NULL;
}

static void emit(const struct tc_event *event, const struct tc_variable *v, tc_sym key,
                 tc_sym outcome, const struct tc_sink *sink)
{
    struct tc_situation situation = {.n = 0};

    for (size_t i = 0; i < v->n_attrs; i++)
        tc_situation_set(&situation, v->attrs[i].field, v->attrs[i].value);
    tc_situation_sort(&situation);
    struct tc_example example = {.key = key,
                                 .situation = &situation,
                                 .outcome = &outcome,
                                 .n_outcome = outcome != TC_NO_SYM,
                                 .variable = v};
    sink->example(sink->context, event, &example);
}

/* To load and to initialise is to make weights: where that is right is not for one call to say. A
 * graph that is replayed may hold a step, which made them. */
static bool is_always_fine(const struct tc_call *call)
{
    return call->role == TC_ROLE_LOAD || call->role == TC_ROLE_INIT || call->role == TC_ROLE_REPLAY;
}

/* The content of a variable is again what it was before the script wrote to it. */
static void restore(struct within_state *s, struct tc_strtab *symbols, const struct tc_event *event,
                    struct foreign *foreign, const struct tc_sink *sink)
{
    if (foreign->was_evaluated && s->is_writer)
        tc_sink_excuse(sink, swap_sym(symbols), TC_EXCUSE_OWN_WRITES);
    else if (foreign->was_evaluated)
        emit(event, event->variable, swap_sym(symbols), TC_SYM_TRUE, sink);
    *foreign = s->foreign.items[--s->foreign.n];
}

/* Before training anything goes. */
static void on_change(struct within_state *s, struct tc_strtab *symbols,
                      const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_variable *v = event->variable;
    const struct tc_call *around = call_around(event->call);
    tc_sym stage = event->window->stage;
    struct left *left = left_of(s, event);
    struct foreign *foreign = find_foreign(s, event);
    const bool is_behind_gap = left->n_gaps != event->process->n_gaps;
    const bool is_made = around || stage == TC_SYM_INIT || is_behind_gap;

    left->n_gaps = event->process->n_gaps;
    if (is_behind_gap && !around)
        tc_sink_excuse(sink, key_sym(symbols), TC_EXCUSE_GAP);
    if (foreign && left->data == v->data)
        restore(s, symbols, event, foreign, sink);
    else if (foreign && is_made)
        *foreign = s->foreign.items[--s->foreign.n];
    else if (foreign)
        foreign->was_replaced = foreign->was_evaluated;
    else if (!is_made && left->data != v->data)
        tc_vec_push(&s->foreign, ((struct foreign){.serial = v->serial,
                                                   .n_known = event->process->n_variables}));
    if (is_made)
        left->data = v->data;
    if (!around || stage != TC_SYM_TRAINING)
        return;
    if (is_always_fine(around))
        tc_sink_excuse(sink, key_sym(symbols), TC_EXCUSE_MADE);
    else
        emit(event, v, key_sym(symbols), tc_token_of(symbols, around->role, around->descriptor),
             sink);
}

/* Has its model been given weights since then that no optimizer has stepped yet? What is put in
 * while a model is rebuilt stays. */
static bool is_rebuilt(const struct tc_process *process, const struct foreign *who,
                       const struct tc_variable *v)
{
    const struct tc_variable *other;

    if (process->n_variables == who->n_known)
        return false;
    for (size_t pos = 0; (other = tc_map_next(&process->variables, &pos));)
        if (other->kind == TC_SYM_PARAMETER && other->root == v->root && other->requires_grad &&
            other->stepped < 0)
            return true;
    return false;
}

/* Has a call of the script written to it since it was evaluated? What is written through `.data` is
 * not seen before the next step. */
static bool is_written_since(const struct foreign *who, const struct tc_variable *v)
{
    return v->written.fn != TC_NO_SYM && v->written.id > who->evaluated;
}

/* The root trains with what the script put into a variable. */
static void on_use(struct within_state *s, struct tc_strtab *symbols, const struct tc_event *event,
                   const struct foreign *who, const struct tc_variable *v,
                   const struct tc_sink *sink)
{
    emit(event, v, key_sym(symbols), TC_NO_SYM, sink);
    if (!who->was_evaluated)
        s->is_writer = true;
    else if (who->was_replaced || is_written_since(who, v))
        tc_sink_excuse(sink, swap_sym(symbols), TC_EXCUSE_WRITTEN_ANEW);
    else if (s->is_writer || v->stepped < 0)
        tc_sink_excuse(sink, swap_sym(symbols), TC_EXCUSE_OWN_WRITES);
    else if (is_rebuilt(event->process, who, v))
        tc_sink_excuse(sink, swap_sym(symbols), TC_EXCUSE_REBUILT);
    else
        emit(event, v, swap_sym(symbols), TC_SYM_FALSE, sink);
}

/* What the root has now trained with is reported once. */
static void on_forward(struct within_state *s, struct tc_strtab *symbols,
                       const struct tc_event *event, const struct tc_sink *sink)
{
    int64_t root = tc_serial_of(event->call->self);
    bool trains = event->call->stage == TC_SYM_TRAINING && tc_is_training_forward(event->call);
    size_t kept = 0;

    for (size_t i = 0; i < s->foreign.n; i++) {
        struct foreign who = s->foreign.items[i];
        const struct tc_variable *v = tc_process_variable(event->process, who.serial);
        bool is_used = v && v->root == root;
        if (is_used && trains) {
            on_use(s, symbols, event, &who, v, sink);
            continue;
        }
        who.was_evaluated |= is_used;
        who.evaluated = is_used ? event->call->id : who.evaluated;
        s->foreign.items[kept++] = who;
    }
    s->foreign.n = kept;
}

static void within_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    if (event->kind == TC_EVENT_CHANGE && event->variable->kind == TC_SYM_PARAMETER &&
        event->variable->requires_grad)
        on_change(tc_process_state(state, event->process), symbols, event, sink);
    else if (event->kind == TC_EVENT_CALL && !event->process->is_worker && event->call->is_root &&
             !event->call->raised)
        on_forward(tc_process_state(state, event->process), symbols, event, sink);
}

/* ---- within: inside the calls that were seen -------------------------------------------- */

static bool is_later(struct tc_strtab *symbols, const struct tc_param *param, tc_sym token)
{
    return strcmp(tc_strtab_text(symbols, tc_token_of_param(symbols, param)),
                  tc_strtab_text(symbols, token)) > 0;
}

/* Adds the call of that token, in the order of the texts. */
static void add_call(struct tc_hypothesis *h, struct tc_strtab *symbols, tc_sym token)
{
    struct tc_param param;
    size_t i = h->n_params;

    if (!tc_param_of_token(symbols, token, &param))
        return;
    for (; h->n_params < TC_MAX_PARAMS && i > 1 && is_later(symbols, &h->params[i - 1], token); i--)
        h->params[i] = h->params[i - 1];
    if (h->n_params < TC_MAX_PARAMS)
        h->params[i] = param;
    h->n_params++;
}

/* Whether a script also writes to its weights by hand (a clamp, a mask, a decay) is its habit. Of
 * few pipelines that is said which goes for all: EventContain/restored. */
static void within_propose(struct tc_strtab *symbols, tc_sym key,
                           const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.n_params = 1, .support = TC_SUPPORT_HABIT};
    struct tc_map seen = TC_MAP_INIT;

    h.params[0] = tc_param_of(TC_PARAM_CHANGE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_CHANGED);
    for (size_t i = 0; key == key_sym(symbols) && i < outcomes->n; i++)
        if (outcomes->n_outcome[i] && tc_is_first(&seen, outcomes->outcome[i][0]))
            add_call(&h, symbols, outcomes->outcome[i][0]);
    tc_map_release(&seen);
    if (h.n_params > 1 && h.n_params <= TC_MAX_PARAMS)
        tc_vec_push(&out->items, h);
}

static tc_sym within_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    if (n_params < 2 || params[0].kind != TC_PARAM_CHANGE || params[0].name != TC_SYM_PARAMETER ||
        params[0].attr != TC_SYM_DATA)
        return TC_NO_SYM;
    for (size_t i = 1; i < n_params; i++)
        if (params[i].kind != TC_PARAM_CALL)
            return TC_NO_SYM;
    return key_sym(symbols);
}

static enum tc_outcome within_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                    size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    for (size_t i = 1; n_outcome && i < n_params; i++)
        if (outcome[0] == tc_token_of_param(symbols, &params[i]))
            return TC_HELD;
    return TC_BROKEN;
}

static void within_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                            size_t n_params, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "a model trains only with data of each %s that was made inside ",
                   tc_strtab_text(symbols, params[0].name));
    for (size_t i = 1; i < n_params; i++) {
        tc_strbuf_adds(out, i == 1 ? "" : i + 1 == n_params ? " or " : ", ");
        tc_describe_call(symbols, params[i].name, out);
    }
}

static void within_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           const struct tc_event *event, const struct tc_example *example,
                           struct tc_strbuf *out)
{
    const char *name = tc_strtab_text(symbols, example->variable->name);
    const struct tc_call *around = event->kind == TC_EVENT_CHANGE ? call_around(event->call) : NULL;

    (void)invariant;
    if (!around) {
        tc_strbuf_addf(out, "the script itself changed %s, and the model trains on with that",
                       name);
        tc_explain_writer(symbols, event, example->variable, out);
        return;
    }
    tc_strbuf_addf(out, "%s changed inside ", name);
    tc_describe_call(symbols, around->descriptor, out);
}

/* ---- restored ------------------------------------------------------------------------------ */

static const struct tc_claim restored[] = {
    {
     .key = {TC_SYM_SWAP, TC_SYM_PARAMETER, TC_SYM_DATA},
     .kind = TC_SYM_PARAMETER,
     .of = TC_PARAM_CHANGE,
     .attr = TC_SYM_DATA,
     .to = TC_SYM_KEPT,
     .held = {TC_SYM_TRUE},
     .support = TC_SUPPORT_COIN,
     .expected =
            "data that the script puts into a %k for an evaluation is taken out again before "
            "the model trains on", .seen = "the model trains on with what %v was given before an evaluation%w",
     }
};

/* Where nothing but certain calls makes weights, none are put in by the script. */
static void condense(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));
    bool says_all = false;

    (void)rows;
    for (size_t i = 0; i < set->items.n; i++)
        says_all |= set->items.items[i]->n_params > 1 && !set->items.items[i]->n_when;
    for (size_t i = 0; i < set->items.n; i++)
        drop[i] = says_all && set->items.items[i]->n_params == 1;
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

const struct tc_source tc_source_changes = {
    .name = "changes",
    .judged = "a change of a weight in training, and a forward that uses what the script wrote",
    .is_set = true,
    .process_size = sizeof(struct within_state),
    .release_process = within_release,
    .observe = within_observe,
    .condense = condense,
};

const struct tc_relation tc_event_contain_within = {
    .name = "EventContain/within",
    .summary = "a model trains only with weights that were made inside these calls",
    .hint = "Who writes to the weights besides the optimizer: were others swapped in, or copied "
            "back?",
    .source = &tc_source_changes,
    .propose = within_propose,
    .key = within_key,
    .holds = within_holds,
    .describe = within_describe,
    .explain = within_explain,
};

const struct tc_relation tc_event_contain_restored = {
    .name = "EventContain/restored",
    .summary = "weights that are put in for an evaluation are taken out again",
    .hint = "Are the weights of the training kept, and put back after the evaluation?",
    .excused_by = 1u << TC_ROLE_FILL | 1u << TC_ROLE_OPERATOR,
    .source = &tc_source_changes,
    .claims = restored,
    .n_claims = TC_N_CLAIMS(restored),
};
