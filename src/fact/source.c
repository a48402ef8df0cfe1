/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c - facts as a source of examples, and the seven forms that claim them
 *
 * An example is one slot with one value. Learning tells of all at the end of a run, with how often
 * each was met; judging tells of each breach, and of what held in sum.
 */
#include "fact/source.h"

#include "fact/attribute.h"
#include "fact/call.h"
#include "fact/finish.h"
#include "fact/flow.h"
#include "fact/implied.h"
#include "fact/table.h"
#include "fact/variable_facts.h"
#include "fact/window_facts.h"
#include "fact/words.h"
#include "replay/symbols.h"

/* ---- state ---------------------------------------------------------------------------------- */

static void *facts_open(void)
{
    struct tc_facts *facts = tc_calloc(1, sizeof(*facts));

    tc_fact_table_init(&facts->table);
    tc_fact_flow_init(facts);
    facts->class_tuples = tc_strtab_new();
    return facts;
}

static void facts_close(void *state)
{
    struct tc_facts *facts = state;

    for (size_t i = 0; i < facts->all.n; i++)
        tc_fact_watch_free(facts->all.items[i]);
    tc_vec_release(&facts->all);
    tc_map_release(&facts->watches);
    tc_map_release(&facts->own);
    tc_map_release(&facts->class_counts);
    tc_strtab_free(facts->class_tuples);
    tc_vec_release(&facts->classes);
    tc_vec_release(&facts->entries);
    tc_vec_release(&facts->sources);
    tc_strbuf_release(&facts->pack.bytes);
    tc_strbuf_release(&facts->origin);
    tc_fact_table_release(&facts->table);
    tc_free(facts);
}

static void facts_expect(void *state, struct tc_strtab *symbols,
                         const struct tc_invariant *invariant)
{
    struct tc_facts *facts = state;
    struct tc_fact_record learned = {invariant->windows, invariant->pipelines};

    facts->table.symbols = symbols;
    facts->has_operators |= (invariant->needs & TC_NEED_BIT(TC_NEED_OPERATORS)) != 0;
    if (!learned.windows.of) /* a file that does not tell of windows: an occasion stands for one */
        learned.windows = (struct tc_fact_windows){invariant->held, invariant->held};
    tc_fact_table_expect(&facts->table, tc_invariant_fact(invariant), &learned);
}

/* ---- events --------------------------------------------------------------------------------- */

static bool is_call_told(const struct tc_facts *facts, const struct tc_call *call)
{
    return call->th == 0 && !tc_fact_passes_over(facts, call);
}

/* Of main processes; of their calls those of the main thread, whose order is the script's. */
static void facts_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    struct tc_facts *facts = state;
    struct tc_fact_watch *w;

    facts->table.symbols = symbols;
    facts->sink = sink;
    facts->event = event;
    if (event->kind == TC_EVENT_FINISH)
        tc_fact_finish(facts);
    if (!event->process || event->process->is_worker)
        return;
    w = tc_fact_watch_of(facts, event->process);
    if (event->kind == TC_EVENT_BEGIN && is_call_told(facts, event->call))
        (tc_role_has(event->call->role, TC_TRAIT_APART) ? tc_fact_own_begins : tc_fact_call_begins)(
            facts, w, event->call);
    else if (event->kind == TC_EVENT_CALL && is_call_told(facts, event->call))
        (tc_role_has(event->call->role, TC_TRAIT_APART) ? tc_fact_own_ends
                                                        : tc_fact_call_ends)(facts, w, event->call);
    else if (event->kind == TC_EVENT_VARIABLE)
        tc_fact_variable(facts, w, event);
    else if (event->kind == TC_EVENT_WINDOW)
        tc_fact_window_ends(facts, w, event->window);
}

const struct tc_source tc_source_facts = {
    .name = "facts",
    .judged = "a call, the end of a step or of a run, as the fact says",
    .open = facts_open,
    .close = facts_close,
    .expect = facts_expect,
    .observe = facts_observe,
    .looks_closely = true,
    .condense = tc_fact_condense,
};

/* ---- forms ---------------------------------------------------------------------------------- */

static const struct tc_attribute_row *row_of(const struct tc_fact *fact)
{
    return tc_attribute_row(fact->attribute);
}

static void propose(enum tc_fact_form form, struct tc_strtab *symbols, tc_sym key,
                    const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    struct tc_fact fact;

    if (!tc_fact_of_key(&fact, symbols, tc_strtab_text(symbols, key),
                        tc_strtab_size(symbols, key)) ||
        tc_fact_form(&fact, symbols) != form)
        return;
    fact.value = row_of(&fact)->rule->propose(symbols, (enum tc_attribute)fact.attribute, outcomes);
    if (fact.value == TC_NO_SYM ||
        !tc_fact_is_claimed(fact.attribute, tc_strtab_text(symbols, fact.value)))
        return;
    struct tc_hypothesis hypothesis = {
        .n_params = 1,
        .support = TC_SUPPORT_EVERY,
        .min_examples = tc_fact_support(&fact, symbols),
        .fact = fact,
    };
    hypothesis.params[0] = tc_param_fact(&hypothesis.fact);
    tc_vec_push(&out->items, hypothesis);
}

static tc_sym key_of_fact(enum tc_fact_form form, struct tc_strtab *symbols,
                          const struct tc_param *params, size_t n_params)
{
    if (n_params != 1 || params[0].kind != TC_PARAM_FACT ||
        tc_fact_form(params[0].fact, symbols) != form)
        return TC_NO_SYM;
    return tc_fact_key_symbol(params[0].fact, symbols);
}

static enum tc_outcome holds(struct tc_strtab *symbols, const struct tc_param *params,
                             size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    const struct tc_fact *claim = params[0].fact;

    (void)n_params;
    if (n_outcome != 1)
        return TC_UNDECIDED;
    return row_of(claim)->rule->holds(symbols, claim, outcome[0]) ? TC_HELD : TC_BROKEN;
}

static bool is_setting(const struct tc_strtab *symbols, const struct tc_invariant *invariant,
                       const struct tc_example *example)
{
    return tc_fact_is_setting(tc_invariant_fact(invariant), symbols, example->outcome[0]);
}

static bool follows(const struct tc_strtab *symbols, const struct tc_invariant *invariant,
                    tc_sym seen, double share, double from, double to)
{
    return tc_fact_follows(tc_invariant_fact(invariant), symbols, seen, share, from, to);
}

static bool is_doubtful(const struct tc_strtab *symbols, const struct tc_invariant *invariant)
{
    return tc_fact_doubt(tc_invariant_fact(invariant), symbols) >= TC_FACT_BITS_OF_CHANCE;
}

static bool is_of_size(const struct tc_invariant *invariant)
{
    return tc_fact_is_of_size(tc_invariant_fact(invariant));
}

static void describe(const struct tc_strtab *symbols, const struct tc_param *params,
                     size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_fact_describe(params[0].fact, symbols, out);
}

static void explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                    const struct tc_event *event, const struct tc_example *example,
                    struct tc_strbuf *out)
{
    const tc_sym at = example->place ? example->place->at
                      : event->call  ? tc_call_at(event->call)
                                     : TC_NO_SYM;

    tc_fact_explain(tc_invariant_fact(invariant), symbols, example->outcome[0], at, out);
    if (example->detail)
        tc_strbuf_adds(out, example->detail);
}

static const char *hint_of(const struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           tc_sym seen)
{
    return tc_fact_hint(tc_invariant_fact(invariant), symbols, seen);
}

#define FORM(symbol, form, text, at, what)                                                    \
    static void propose_##form(struct tc_strtab *symbols, tc_sym key,                         \
                               const struct tc_outcomes *outcomes, struct tc_hypotheses *out) \
    {                                                                                         \
        propose(TC_FORM_##form, symbols, key, outcomes, out);                                 \
    }                                                                                         \
    static tc_sym key_##form(struct tc_strtab *symbols, const struct tc_param *params,        \
                             size_t n_params)                                                 \
    {                                                                                         \
        return key_of_fact(TC_FORM_##form, symbols, params, n_params);                        \
    }                                                                                         \
    const struct tc_relation symbol = {                                                       \
        .name = (text),                                                                       \
        .summary = (what),                                                                    \
        .fault = (at),                                                                        \
        .source = &tc_source_facts,                                                           \
        .is_specific = true,                                                                  \
        .is_setting = is_setting,                                                             \
        .follows = follows,                                                                   \
        .is_of_size = is_of_size,                                                             \
        .is_doubtful = is_doubtful,                                                           \
        .propose = propose_##form,                                                            \
        .key = key_##form,                                                                    \
        .holds = holds,                                                                       \
        .describe = describe,                                                                 \
        .explain = explain,                                                                   \
        .hint_of = hint_of,                                                                   \
    };

FORM(tc_fact_arg_value, ARG_VALUE, "APIArg/value", TC_FAULT_AT_BEGIN,
     "a call is made with this operand, receiver or mode (--specific)")
FORM(tc_fact_arg_source, ARG_SOURCE, "APIArg/source", TC_FAULT_AT_BEGIN,
     "an operand comes from this call, a variable or outside (--specific)")
FORM(tc_fact_output_value, OUTPUT_VALUE, "APIOutput/value", TC_FAULT_AT_END,
     "a call returns this kind of result (--specific)")
FORM(tc_fact_count, COUNT, "APISequence/count", TC_FAULT_AT_END,
     "a call is made so often in a step, or in a run (--specific)")
FORM(tc_fact_before, BEFORE, "APISequence/before", TC_FAULT_AT_END,
     "these calls come right after another one (--specific)")
FORM(tc_fact_set, SET, "EventContain/set", TC_FAULT_AT_END,
     "a call changes these variables, or gives gradients to them (--specific)")
FORM(tc_fact_attribute, ATTRIBUTE, "Consistent/attribute", TC_FAULT_AT_END,
     "a variable has this shape, dtype or mode (--specific)")
