/*
 * api_arg_distinct.c - APIArg/distinct: no two calls of one scope carry the same thing
 *
 *   window    random initialisers, together one abstract API: none sees a tensor twice in a window.
 * What torch's constructors do does not count: to overrule it is what initialising is for workers
 * an argument of a call in DataLoader workers that live at the same time: a number, or the content
 * of an array
 */
#include "relation/form.h"

#include <string.h>

#include "base/banned.h"
#include "base/hash.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* ---- the two scopes ------------------------------------------------------------------------ */

struct distinct_state {
    struct tc_map tensors; /* (process, window, fn, tensor) that were met */
    struct tc_map values;  /* (parent, fn, operand, value) → process that used it */
    struct tc_map workers; /* (parent, fn, operand) → number of processes that called it */
};

static void *distinct_open(void)
{
    return tc_calloc(1, sizeof(struct distinct_state));
}

static void distinct_close(void *state)
{
    struct distinct_state *s = state;

    tc_map_release(&s->tensors);
    tc_map_release(&s->values);
    tc_map_release(&s->workers);
    tc_free(s);
}

/* "init *" for the abstract initialiser, "FN args.NAME" for an operand in workers. */
static tc_sym initialiser_key(struct tc_strtab *symbols)
{
    return tc_strtab_intern_text(symbols, "init *");
}

static void emit(struct tc_strtab *symbols, const struct tc_event *event,
                 const struct tc_sink *sink, tc_sym key, bool is_distinct)
{
    struct tc_situation situation = {.n = 0};
    tc_sym outcome[] = {tc_strtab_intern_text(symbols, is_distinct ? "distinct" : "repeated")};

    if (!event->process->is_worker)
        tc_situation_set(&situation, TC_SYM_F_STAGE,
                         tc_symbols_quote(symbols, tc_symbols_text(symbols, event->call->stage)));
    struct tc_example example = {
        .key = key, .situation = &situation, .outcome = outcome, .n_outcome = 1};
    sink->example(sink->context, event, &example);
}

/* The tensor that is initialised: the receiver, or the first tensor among the operands. */
static int64_t target_of(const struct tc_call *call)
{
    if (tc_value_get(call->self, "tensor"))
        return tc_value_int(tc_value_get(call->self, "id"), TC_NONE);
    for (uint32_t i = 0; call->args && i < call->args->n; i++)
        if (tc_value_get(&call->args->members[i].value, "tensor"))
            return tc_value_int(tc_value_get(&call->args->members[i].value, "id"), TC_NONE);
    return TC_NONE;
}

static bool is_inside_initialiser(const struct tc_call *call)
{
    for (const struct tc_call *around = call->parent; around; around = around->parent)
        if (around->role == TC_ROLE_INIT)
            return true;
    return false;
}

static void observe_initialiser(struct distinct_state *s, struct tc_strtab *symbols,
                                const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;
    int64_t target = target_of(call);
    const uint64_t scope[] = {(uintptr_t)event->process, call->window, call->fn, (uint64_t)target};
    bool is_new;

    if (target == TC_NONE || is_inside_initialiser(call) || tc_is_by_torch(symbols, call))
        return;
    tc_map_at(&s->tensors, tc_hash64(scope, sizeof(scope), 0), &is_new);
    emit(symbols, event, sink, initialiser_key(symbols), is_new);
}

/* ---- workers ------------------------------------------------------------------------------- */

static uint64_t value_digest(const struct tc_value *v)
{
    struct tc_str digest = tc_value_str(tc_value_get(v, "digest"));

    if (v->kind == TC_VALUE_INT)
        return tc_hash64(&v->integer, sizeof(v->integer), 1);
    return digest.text ? tc_hash64(digest.text, digest.size, 2) : 0;
}

static tc_sym worker_key(struct tc_strtab *symbols, const struct tc_call *call, struct tc_str name)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s args.%.*s", tc_strtab_text(symbols, call->fn), (int)name.size,
                   name.text);
    tc_sym key = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return key;
}

/* Two workers are siblings while both live; those of the next epoch may well begin alike. */
static bool is_repeated(struct distinct_state *s, const struct tc_process *process,
                        const uint64_t scope[3])
{
    bool is_new;
    uint64_t *user = tc_map_at(&s->values, tc_hash64(scope, 3 * sizeof(*scope), 0), &is_new);
    const struct tc_process *other = is_new ? process : (const void *)(uintptr_t)*user;

    *user = (uintptr_t)process;
    return other != process && !other->has_ended;
}

static void observe_operand(struct distinct_state *s, struct tc_strtab *symbols,
                            const struct tc_event *event, const struct tc_member *operand,
                            const struct tc_sink *sink)
{
    uint64_t digest = value_digest(&operand->value);
    tc_sym key = worker_key(symbols, event->call, operand->key);
    const uint64_t scope[] = {(uint64_t)event->process->parent_pid, key, digest};
    bool is_new;

    if (!digest)
        return;
    uint64_t *who = tc_map_at(&s->workers, tc_hash64(scope, 2 * sizeof(*scope), 0), &is_new);
    bool has_sibling = !is_new && *who != (uintptr_t)event->process;
    bool repeated = is_repeated(s, event->process, scope);
    if (is_new)
        *who = (uintptr_t)event->process;
    if (has_sibling)
        emit(symbols, event, sink, key, !repeated);
}

static void distinct_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                             const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    if (event->kind != TC_EVENT_CALL || call->raised)
        return;
    if (!event->process->is_worker) {
        if (call->role == TC_ROLE_INIT)
            observe_initialiser(state, symbols, event, sink);
        return;
    }
    if (call->parent || !call->args || call->args->kind != TC_VALUE_OBJECT)
        return;
    for (uint32_t i = 0; i < call->args->n; i++)
        observe_operand(state, symbols, event, &call->args->members[i], sink);
}

/* ---- the form ------------------------------------------------------------------------------ */

/* "FN args.NAME" as the two params of an invariant. */
static void set_operand(struct tc_strtab *symbols, tc_sym key, struct tc_hypothesis *h)
{
    struct tc_str text = tc_symbols_text(symbols, key);
    const char *space = memchr(text.text, ' ', text.size);

    h->n_params = 2;
    h->params[0].name = tc_strtab_intern(symbols, text.text, (size_t)(space - text.text));
    h->params[0].role = TC_SYM_EMPTY;
    h->params[1] = tc_param_of(TC_PARAM_OPERAND, tc_strtab_intern_text(symbols, space + 1),
                               tc_strtab_intern_text(symbols, "is"),
                               tc_strtab_intern_text(symbols, "\"distinct\""));
}

static void propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                    struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.n_params = 1, .min_pipelines = 2, .min_support = 1};

    (void)outcomes;
    h.params[0] =
        tc_param_call(tc_strtab_intern_text(symbols, "*"), tc_strtab_intern_text(symbols, "init"));
    if (key != initialiser_key(symbols))
        set_operand(symbols, key, &h);
    tc_vec_push(&out->items, h);
}

static tc_sym key_of(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (params[0].kind != TC_PARAM_CALL)
        return TC_NO_SYM;
    if (n_params == 1)
        return initialiser_key(symbols);
    if (n_params != 2 || params[1].kind != TC_PARAM_OPERAND)
        return TC_NO_SYM;
    tc_strbuf_addf(&text, "%s %s", tc_strtab_text(symbols, params[0].name),
                   tc_strtab_text(symbols, params[1].name));
    tc_sym key = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return key;
}

static enum tc_outcome holds(struct tc_strtab *symbols, const struct tc_param *params,
                             size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)params;
    (void)n_params;
    return n_outcome && !strcmp(tc_strtab_text(symbols, outcome[0]), "distinct") ? TC_HELD
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
    tc_strbuf_adds(out, "DataLoader workers call ");
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_addf(out, " with different %s", operand_name(symbols, &params[1]));
}

static void explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                    const struct tc_event *event, const struct tc_example *example,
                    struct tc_strbuf *out)
{
    (void)example;
    tc_describe_call(symbols, event->call->fn, out);
    if (invariant->n_params == 1)
        tc_strbuf_adds(out, " initialised a tensor that it had initialised before");
    else
        tc_strbuf_addf(out, " in worker process %lld got the same %s as in another worker",
                       (long long)event->process->pid,
                       operand_name(symbols, &invariant->params[1]));
}

const struct tc_source tc_source_distinct = {
    .name = "distinct",
    .is_set = true,
    .open = distinct_open,
    .close = distinct_close,
    .observe = distinct_observe,
};

const struct tc_relation tc_api_arg_distinct = {
    .name = "APIArg/distinct",
    .summary = "random initialisers see each tensor once; workers draw different numbers",
    .hint = "Is the model initialised twice, or does every worker get the same seed?",
    .source = &tc_source_distinct,
    .propose = propose,
    .key = key_of,
    .holds = holds,
    .describe = describe,
    .explain = explain,
};
