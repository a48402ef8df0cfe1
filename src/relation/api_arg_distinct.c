/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_distinct.c - APIArg/distinct: no two calls of one scope carry the same thing
 *
 *   window    random initialisers, together one abstract API: none sees a tensor twice in a window.
 *             What constructors of packages do does not count: to overrule it is what
 *             initialising is for. Nor do other arguments, which overrule as well, and a second
 *             visit within one call of the script, as Module.apply() comes to a tied weight by
 *             each of its owners, or by another line that names it itself: one for each owner.
 *   workers   a seed, or the content of an array, that DataLoader workers which live at the same
 *             time are given
 */
#include "relation/form.h"
#include "relation/operand.h"
#include "relation/workers.h"

#include <string.h>

#include "base/hash.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* ---- initialisers -------------------------------------------------------------------------- */

/* What was initialised in the open window of a process. */
struct initialised {
    uint64_t window;
    struct tc_map tensors; /* (fn, tensor, arguments) → struct visit * */
};

/* The first call that initialised a tensor so. */
struct visit {
    int64_t call; /* id of the script's own call of which it is a part; 0: there was none */
    tc_sym at;    /* the line, where it is the script's own call; else TC_SYM_EMPTY */
};

struct distinct_state {
    struct tc_process_states processes; /* struct initialised */
    struct tc_workers workers;
};

static void initialised_release(void *of_process)
{
    tc_map_release_structs(&((struct initialised *)of_process)->tensors);
}

static void distinct_release(void *state)
{
    tc_workers_release(&((struct distinct_state *)state)->workers);
}

/* "init *" for the abstract initialiser, "FN args.NAME" for an operand in workers. */
static tc_sym initialiser_key(struct tc_strtab *symbols)
{
    return TC_ATOM(symbols, TC_SYM_INIT, TC_SYM_ANY);
}

/* The tensor that is initialised. */
static int64_t target_of(const struct tc_call *call)
{
    return tc_serial_of(tc_first_tensor(call));
}

/* The call that the script makes itself, of which this one is a part. */
static const struct tc_call *call_of_script(const struct tc_call *call)
{
    while (call->parent && call->by == TC_SYM_EMPTY)
        call = call->parent;
    return call;
}

static struct tc_map *initialised_in(struct distinct_state *s, const struct tc_process *process,
                                     uint64_t window)
{
    struct initialised *initialised = tc_process_state(s, process);

    if (initialised->window != window)
        tc_map_release_structs(&initialised->tensors);
    initialised->window = window;
    return &initialised->tensors;
}

static struct visit visit_of(const struct tc_call *call)
{
    const struct tc_call *outer = call_of_script(call);

    return (struct visit){.call = outer->id, .at = outer == call ? call->at : TC_SYM_EMPTY};
}

/* Does it come to a tied weight by another of its owners? */
static bool is_other_owner(const struct visit *first, const struct visit *visit)
{
    return visit->call == first->call ||
           (visit->at != TC_SYM_EMPTY && first->at != TC_SYM_EMPTY && visit->at != first->at);
}

static void observe_initialiser(struct distinct_state *s, struct tc_strtab *symbols,
                                const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;
    int64_t target = target_of(call);
    const uint64_t scope[] = {call->fn, (uint64_t)target, tc_operand_mix(0, call->args)};
    struct tc_situation situation = {.n = 0};

    if (target == TC_NONE || tc_call_is_within(call->parent, TC_ROLE_INIT))
        return;
    if (!tc_is_by_the_user(symbols, call)) {
        tc_sink_excuse(sink, initialiser_key(symbols), TC_EXCUSE_OVERRULED);
        return;
    }
    const struct visit visit = visit_of(call);
    struct visit *first = tc_map_struct(initialised_in(s, event->process, call->window),
                                        tc_hash64(scope, sizeof(scope), 0), sizeof(*first));
    const bool is_new = !first->call;
    if (!is_new && is_other_owner(first, &visit)) {
        tc_sink_excuse(sink, initialiser_key(symbols), TC_EXCUSE_REVISITED);
        return;
    }
    if (is_new)
        *first = visit;
    tc_situation_set(&situation, TC_SYM_F_STAGE,
                     tc_symbols_quote(symbols, tc_symbols_text(symbols, call->stage)));
    tc_sym outcome[] = {is_new ? TC_SYM_DISTINCT : TC_SYM_REPEATED};
    struct tc_example example = {.key = initialiser_key(symbols),
                                 .situation = &situation,
                                 .outcome = outcome,
                                 .n_outcome = 1};
    sink->example(sink->context, event, &example);
}

static void distinct_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                             const struct tc_sink *sink)
{
    struct distinct_state *s = state;

    if (event->kind == TC_EVENT_FINISH || (event->process && event->process->is_worker))
        tc_workers_observe(&s->workers, symbols, event, sink);
    else if (event->kind == TC_EVENT_CALL && !event->call->raised &&
             event->call->role == TC_ROLE_INIT)
        observe_initialiser(s, symbols, event, sink);
}

/* ---- the form ------------------------------------------------------------------------------ */

/* "FN args.NAME" as the two params of an invariant. */
static bool set_operand(struct tc_strtab *symbols, tc_sym key, struct tc_hypothesis *h)
{
    tc_sym words[2];

    if (!tc_strtab_split(symbols, key, words, 2))
        return false;
    h->n_params = 2;
    h->params[0] = tc_param_call(words[0], TC_SYM_EMPTY);
    h->params[1] = tc_param_of(TC_PARAM_OPERAND, words[1], TC_SYM_IS, TC_SYM_DISTINCT_VALUE);
    return true;
}

/* Arrays may well be the same: labels, masks, a row that is drawn again. That they are not is a
 * fact of one script; that seeds are not, of all. */
static bool is_content(struct tc_strtab *symbols, const struct tc_outcomes *outcomes)
{
    tc_sym words[2];

    return outcomes->n && outcomes->n_outcome[0] &&
           tc_strtab_split(symbols, outcomes->outcome[0][0], words, 2);
}

static void propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                    struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.n_params = 1, .support = TC_SUPPORT_LAW, .min_examples = 1};

    if (is_content(symbols, outcomes))
        h.support = TC_SUPPORT_OWN;
    h.params[0] = tc_param_call(TC_SYM_ANY, TC_SYM_INIT);
    if (key != initialiser_key(symbols) && !set_operand(symbols, key, &h))
        return;
    tc_vec_push(&out->items, h);
}

static tc_sym key_of(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    if (params[0].kind != TC_PARAM_CALL)
        return TC_NO_SYM;
    if (n_params == 1)
        return initialiser_key(symbols);
    if (n_params != 2 || params[1].kind != TC_PARAM_OPERAND)
        return TC_NO_SYM;
    return TC_ATOM(symbols, params[0].name, params[1].name);
}

static enum tc_outcome holds(struct tc_strtab *symbols, const struct tc_param *params,
                             size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)params;
    (void)n_params;
    return tc_outcome_has(outcome, n_outcome, TC_SYM_DISTINCT) ||
                   tc_outcome_has(outcome, n_outcome,
                                  TC_ATOM(symbols, TC_SYM_DISTINCT, TC_SYM_CONTENT))
               ? TC_HELD
               : TC_BROKEN;
}

/* "args.seed" as a person says it. */
static const char *operand_name(const struct tc_strtab *symbols, const struct tc_param *param)
{
    return tc_strtab_text(symbols, param->name) + strlen("args.");
}

static void describe(const struct tc_strtab *symbols, const struct tc_param *params,
                     size_t n_params, struct tc_strbuf *out)
{
    if (n_params == 1) {
        tc_strbuf_adds(out, "no random initialiser sees a tensor twice between two steps");
        return;
    }
    tc_strbuf_adds(out, "each DataLoader worker calls ");
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_addf(out, " with another %s", operand_name(symbols, &params[1]));
}

static void explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                    const struct tc_event *event, const struct tc_example *example,
                    struct tc_strbuf *out)
{
    if (invariant->n_params == 1) {
        tc_describe_call(symbols, event->call->fn, out);
        tc_strbuf_adds(out, " initialised a tensor that it had initialised before");
        return;
    }
    tc_describe_call(symbols, invariant->params[0].name, out);
    tc_strbuf_addf(out, " in worker process %lld got the same %s as in another worker",
                   (long long)*(const int64_t *)example->detail,
                   operand_name(symbols, &invariant->params[1]));
}

const struct tc_source tc_source_distinct = {
    .name = "distinct",
    .judged = "the return of an initialiser, and of a draw in a worker",
    .is_set = true,
    .state_size = sizeof(struct distinct_state),
    .release = distinct_release,
    .process_size = sizeof(struct initialised),
    .release_process = initialised_release,
    .observe = distinct_observe,
};

const struct tc_relation tc_api_arg_distinct = {
    .name = "APIArg/distinct",
    .summary = "random initialisers see each tensor once; workers draw different numbers",
    .hint = "Is the model initialised twice, or does every worker get the same seed?",
    .fault = TC_FAULT_AT_BEGIN,
    .source = &tc_source_distinct,
    .propose = propose,
    .key = key_of,
    .holds = holds,
    .describe = describe,
    .explain = explain,
};
