/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - the lists of sources and of forms, and how a form is asked
 *
 * Everything that treats forms alike goes through here: a form answers by its own functions or, if
 * it has claims, by claims.c. The order of the lists is that of reports, and the place of a source
 * is its number in evidence in memory; files have its name. A new form is one row of FORMS.
 */
#include "relation/relation.h"

#include <string.h>

#include "invariant/describe.h"
#include "invariant/situation_field.h"
#include "relation/claims.h"
#include "relation/one_claim.h"
#include "relation/operand_form.h"

/* Where examples come from, each once: a source, or a rule that is one. */
#define SOURCES(S, R)      \
    S(tc_source_contents)  \
    S(tc_source_owned)     \
    S(tc_source_changes)   \
    R(tc_rule_owned)       \
    R(tc_rule_sets)        \
    S(tc_source_window)    \
    S(tc_source_clearing)  \
    S(tc_source_operands)  \
    S(tc_source_replica)   \
    R(tc_rule_alias)       \
    R(tc_rule_peer)        \
    S(tc_source_steady)    \
    R(tc_rule_apart)       \
    R(tc_rule_statistics)  \
    S(tc_source_models)    \
    S(tc_source_answers)   \
    S(tc_source_led)       \
    S(tc_source_averaged)  \
    R(tc_rule_aside)       \
    R(tc_rule_kept)        \
    R(tc_rule_thawed)      \
    R(tc_rule_saved)       \
    R(tc_rule_masters)     \
    S(tc_source_groups)    \
    R(tc_rule_undone)      \
    R(tc_rule_copied)      \
    R(tc_rule_parts)       \
    R(tc_rule_zeroed)      \
    R(tc_rule_again)       \
    R(tc_rule_redrawn)     \
    S(tc_source_rate)      \
    R(tc_rule_padding)     \
    R(tc_rule_ignored)     \
    R(tc_rule_padded)      \
    R(tc_rule_end)         \
    R(tc_rule_shifted)     \
    R(tc_rule_masked)      \
    R(tc_rule_added)       \
    R(tc_rule_scores)      \
    R(tc_rule_gathered)    \
    R(tc_rule_twice)       \
    R(tc_rule_stop)        \
    R(tc_rule_round)       \
    R(tc_rule_shared)      \
    R(tc_rule_shrunk)      \
    R(tc_rule_unread)      \
    R(tc_rule_rounded)     \
    R(tc_rule_several)     \
    R(tc_rule_seeded)      \
    R(tc_rule_crossed)     \
    R(tc_rule_merged)      \
    R(tc_rule_squared)     \
    R(tc_rule_packed)      \
    R(tc_rule_placed)      \
    R(tc_rule_ahead)       \
    R(tc_rule_target)      \
    R(tc_rule_drops)       \
    R(tc_rule_off)         \
    R(tc_rule_uphill)      \
    R(tc_rule_divided)     \
    R(tc_rule_weighed)     \
    R(tc_rule_grouped)     \
    R(tc_rule_ended)       \
    R(tc_rule_cut)         \
    R(tc_rule_scale)       \
    R(tc_rule_next)        \
    R(tc_rule_run)         \
    R(tc_rule_follow)      \
    R(tc_rule_scaled)      \
    R(tc_rule_resumed)     \
    R(tc_rule_moments)     \
    R(tc_rule_continued)   \
    R(tc_rule_awaited)     \
    S(tc_source_dealt)     \
    S(tc_source_distinct)  \
    R(tc_rule_never)       \
    S(tc_source_terms)     \
    R(tc_rule_column)      \
    R(tc_rule_blank)       \
    R(tc_rule_frozen)      \
    R(tc_rule_sign)        \
    R(tc_rule_exact)       \
    R(tc_rule_still)       \
    R(tc_rule_bounded)     \
    R(tc_rule_alike)       \
    R(tc_rule_ratio)       \
    R(tc_rule_clipped)     \
    R(tc_rule_used)        \
    R(tc_rule_dropped)     \
    R(tc_rule_forgotten)   \
    R(tc_rule_nothing)     \
    S(tc_source_summed)    \
    R(tc_rule_draws_apart) \
    R(tc_rule_drawn)       \
    S(tc_source_facts)     \
    S(tc_source_python)

/* Every form, or rule that is one, in the order of reports. */
#define FORMS(F, R)              \
    F(tc_consistent_replica)     \
    R(tc_rule_alias)             \
    R(tc_rule_peer)              \
    F(tc_consistent_steady)      \
    R(tc_rule_apart)             \
    R(tc_rule_statistics)        \
    F(tc_consistent_models)      \
    F(tc_consistent_answers)     \
    F(tc_consistent_led)         \
    F(tc_consistent_averaged)    \
    R(tc_rule_aside)             \
    R(tc_rule_kept)              \
    R(tc_rule_thawed)            \
    R(tc_rule_saved)             \
    R(tc_rule_masters)           \
    F(tc_consistent_groups)      \
    F(tc_event_contain_some)     \
    F(tc_event_contain_none)     \
    F(tc_event_contain_each)     \
    F(tc_event_contain_within)   \
    F(tc_event_contain_restored) \
    R(tc_rule_owned)             \
    R(tc_rule_undone)            \
    R(tc_rule_copied)            \
    R(tc_rule_parts)             \
    R(tc_rule_zeroed)            \
    R(tc_rule_again)             \
    R(tc_rule_redrawn)           \
    R(tc_rule_sets)              \
    F(tc_api_sequence_window)    \
    F(tc_api_sequence_between)   \
    R(tc_rule_run)               \
    R(tc_rule_follow)            \
    R(tc_rule_scaled)            \
    R(tc_rule_resumed)           \
    R(tc_rule_moments)           \
    R(tc_rule_continued)         \
    R(tc_rule_awaited)           \
    F(tc_api_sequence_dealt)     \
    F(tc_api_arg_constant)       \
    F(tc_api_arg_equal)          \
    F(tc_api_arg_upper)          \
    R(tc_rule_never)             \
    F(tc_api_arg_rate)           \
    R(tc_rule_padding)           \
    R(tc_rule_ignored)           \
    R(tc_rule_padded)            \
    R(tc_rule_end)               \
    R(tc_rule_shifted)           \
    R(tc_rule_masked)            \
    R(tc_rule_added)             \
    R(tc_rule_scores)            \
    R(tc_rule_gathered)          \
    R(tc_rule_twice)             \
    R(tc_rule_stop)              \
    R(tc_rule_round)             \
    R(tc_rule_shared)            \
    R(tc_rule_shrunk)            \
    R(tc_rule_unread)            \
    R(tc_rule_rounded)           \
    R(tc_rule_several)           \
    R(tc_rule_seeded)            \
    R(tc_rule_crossed)           \
    R(tc_rule_merged)            \
    R(tc_rule_squared)           \
    R(tc_rule_packed)            \
    R(tc_rule_placed)            \
    R(tc_rule_ahead)             \
    R(tc_rule_target)            \
    R(tc_rule_drops)             \
    R(tc_rule_off)               \
    R(tc_rule_uphill)            \
    R(tc_rule_divided)           \
    R(tc_rule_weighed)           \
    R(tc_rule_grouped)           \
    R(tc_rule_ended)             \
    R(tc_rule_cut)               \
    R(tc_rule_scale)             \
    R(tc_rule_blank)             \
    R(tc_rule_frozen)            \
    F(tc_api_arg_terms)          \
    R(tc_rule_column)            \
    F(tc_api_arg_distinct)       \
    F(tc_api_output_constant)    \
    F(tc_api_output_equal)       \
    F(tc_api_output_lower)       \
    F(tc_api_output_upper)       \
    F(tc_api_output_finite)      \
    R(tc_rule_sign)              \
    R(tc_rule_exact)             \
    R(tc_rule_still)             \
    R(tc_rule_bounded)           \
    R(tc_rule_alike)             \
    R(tc_rule_ratio)             \
    R(tc_rule_clipped)           \
    R(tc_rule_used)              \
    R(tc_rule_dropped)           \
    R(tc_rule_forgotten)         \
    R(tc_rule_nothing)           \
    F(tc_api_output_summed)      \
    R(tc_rule_draws_apart)       \
    R(tc_rule_drawn)             \
    R(tc_rule_next)              \
    F(tc_fact_arg_value)         \
    F(tc_fact_arg_source)        \
    F(tc_fact_output_value)      \
    F(tc_fact_count)             \
    F(tc_fact_before)            \
    F(tc_fact_set)               \
    F(tc_fact_attribute)

#define NOTHING(rule)
#define DECLARE_SOURCE(source) extern const struct tc_source source;
#define DECLARE_FORM(form)     extern const struct tc_relation form;
#define DECLARE_RULE(rule)     extern const struct tc_relation_rule rule;
SOURCES(DECLARE_SOURCE, NOTHING)
FORMS(DECLARE_FORM, DECLARE_RULE)

#define ADDRESS(item)   &item,
#define SOURCE_OF(rule) &rule.source,
#define FORM_OF(rule)   &rule.form,
const struct tc_source *const tc_sources[] = {SOURCES(ADDRESS, SOURCE_OF) NULL};
const struct tc_relation *const tc_relations[] = {FORMS(ADDRESS, FORM_OF) NULL};

_Static_assert(sizeof(tc_sources) / sizeof(*tc_sources) <= TC_MAX_SOURCES, "too many sources");
_Static_assert(sizeof(tc_relations) / sizeof(*tc_relations) <= TC_MAX_RELATIONS,
               "too many relations");

uint32_t tc_source_number(const struct tc_source *source)
{
    uint32_t i = 0;

    while (tc_sources[i] != source)
        i++;
    return i;
}

uint32_t tc_source_find(const char *name)
{
    for (uint32_t i = 0; tc_sources[i]; i++)
        if (!strcmp(tc_sources[i]->name, name))
            return i;
    return UINT32_MAX;
}

void *tc_source_open(const struct tc_source *source)
{
    struct tc_process_states *states;
    size_t size = source->state_size;

    if (source->open)
        return source->open();
    if (!size && !source->process_size)
        return NULL;
    states = tc_calloc(1, size ? size : sizeof(*states));
    if (source->process_size)
        states->size = source->process_size;
    return states;
}

bool tc_source_hears(const struct tc_source *source, const struct tc_event *event)
{
    return !source->rule || tc_rule_hears(source->rule, event);
}

void tc_source_observe(const struct tc_source *source, void *state, struct tc_strtab *symbols,
                       const struct tc_event *event, const struct tc_sink *sink)
{
    if (source->rule)
        tc_rule_observe(source->rule, state, symbols, event, sink);
    else
        source->observe(state, symbols, event, sink);
}

void *tc_process_state(void *state, const struct tc_process *process)
{
    struct tc_process_states *states = state;

    if (process != states->latest) {
        states->state_of_latest = tc_map_struct(&states->items, (uintptr_t)process, states->size);
        states->latest = process;
    }
    return states->state_of_latest;
}

static void release_processes(const struct tc_source *source, struct tc_process_states *states)
{
    void *of_process;

    for (size_t pos = 0;
         source->release_process && (of_process = tc_map_next(&states->items, &pos));)
        source->release_process(of_process);
    tc_map_release_structs(&states->items);
}

void tc_source_close(const struct tc_source *source, void *state)
{
    if (!state)
        return;
    if (source->close) {
        source->close(state);
        return;
    }
    if (source->process_size)
        release_processes(source, state);
    if (source->release)
        source->release(state);
    tc_free(state);
}

void tc_sources_open(void *states[TC_MAX_SOURCES])
{
    for (size_t i = 0; tc_sources[i]; i++)
        states[i] = tc_source_open(tc_sources[i]);
}

void tc_sources_close(void *states[TC_MAX_SOURCES])
{
    for (size_t i = 0; tc_sources[i]; i++) {
        tc_source_close(tc_sources[i], states[i]);
        states[i] = NULL;
    }
}

const struct tc_relation *tc_relation_judged(size_t i)
{
    const struct tc_relation *const *const lists[] = {tc_relations, tc_python_relations};

    for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++)
        for (size_t j = 0; lists[l][j]; j++)
            if (i-- == 0)
                return lists[l][j];
    return NULL;
}

const struct tc_relation *tc_relation_find(const char *name)
{
    const struct tc_relation *relation;

    for (size_t i = 0; (relation = tc_relation_judged(i)); i++)
        if (!strcmp(relation->name, name))
            break;
    return relation;
}

bool tc_relation_is_learned(const struct tc_relation *relation)
{
    bool is_learned = !relation->n_claims;

    for (size_t i = 0; i < relation->n_claims; i++)
        is_learned |= relation->claims[i].support != TC_SUPPORT_RULE;
    return is_learned;
}

void tc_relation_propose(const struct tc_relation *relation, struct tc_strtab *symbols, tc_sym key,
                         const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    if (relation->claims)
        tc_claims_propose(relation, symbols, key, outcomes, out);
    else if (relation->states)
        tc_operand_propose(relation, symbols, key, outcomes, out);
    else
        relation->propose(symbols, key, outcomes, out);
}

tc_sym tc_relation_key(const struct tc_relation *relation, struct tc_strtab *symbols,
                       const struct tc_param *params, size_t n_params)
{
    return relation->claims ? tc_claims_key(relation, symbols, params, n_params)
                            : relation->key(symbols, params, n_params);
}

enum tc_outcome tc_relation_holds(const struct tc_relation *relation, struct tc_strtab *symbols,
                                  const struct tc_param *params, size_t n_params,
                                  const tc_sym *outcome, size_t n_outcome)
{
    return relation->claims
               ? tc_claims_holds(relation, symbols, params, n_params, outcome, n_outcome)
               : relation->holds(symbols, params, n_params, outcome, n_outcome);
}

void tc_relation_explain(const struct tc_relation *relation, struct tc_strtab *symbols,
                         const struct tc_invariant *invariant, const struct tc_event *event,
                         const struct tc_example *example, struct tc_strbuf *out)
{
    if (relation->claims)
        tc_claims_explain(relation, symbols, invariant, event, example, out);
    else
        relation->explain(symbols, invariant, event, example, out);
}

void tc_relation_describe_claim(const struct tc_relation *relation, const struct tc_strtab *symbols,
                                const struct tc_param *params, size_t n_params,
                                struct tc_strbuf *out)
{
    if (relation->claims)
        tc_claims_describe(relation, symbols, params, n_params, out);
    else
        relation->describe(symbols, params, n_params, out);
}

void tc_relation_describe(const struct tc_relation *relation, const struct tc_strtab *symbols,
                          const struct tc_invariant *invariant, struct tc_strbuf *out)
{
    tc_relation_describe_claim(relation, symbols, invariant->params, invariant->n_params, out);
    tc_describe_when(symbols, invariant->when, invariant->n_when, out);
}

static tc_sym value_of(const struct tc_pair *pairs, size_t n, tc_sym field)
{
    for (size_t i = 0; i < n; i++)
        if (pairs[i].field == field)
            return pairs[i].value;
    return TC_NO_SYM;
}

bool tc_when_holds(const struct tc_clause *when, size_t n_when, const struct tc_pair *pairs,
                   size_t n_pairs)
{
    for (size_t i = 0; i < n_when; i++)
        if ((value_of(pairs, n_pairs, when[i].field) == when[i].value) == when[i].negated)
            return false;
    return true;
}

static const struct tc_context *context_of(const struct tc_invariant *invariant, tc_sym field)
{
    for (size_t i = 0; i < invariant->n_contexts; i++)
        if (invariant->contexts[i].field == field)
            return &invariant->contexts[i];
    return NULL;
}

static bool has_value(const struct tc_context *context, tc_sym value)
{
    for (size_t i = 0; i < context->n_values; i++)
        if (context->values[i] == value)
            return true;
    return false;
}

bool tc_relation_bans(const struct tc_relation *relation, const struct tc_strtab *symbols,
                      const struct tc_param *params, size_t n_params, tc_sym field)
{
    return relation->bans && relation->bans(symbols, params, n_params, field);
}

bool tc_relation_has_context(const struct tc_relation *relation, const struct tc_strtab *symbols,
                             const struct tc_invariant *invariant, tc_sym field)
{
    if (tc_relation_bans(relation, symbols, invariant->params, invariant->n_params, field))
        return false;
    return tc_field_is_context(tc_strtab_text(symbols, field)) ||
           (relation->has_context && relation->has_context(symbols, invariant->params, field));
}

bool tc_context_is_known(const struct tc_relation *relation, const struct tc_strtab *symbols,
                         const struct tc_invariant *invariant, const struct tc_pair *pairs,
                         size_t n_pairs)
{
    for (size_t i = 0; i < n_pairs; i++) {
        const char *field = tc_strtab_text(symbols, pairs[i].field);
        if (!tc_relation_has_context(relation, symbols, invariant, pairs[i].field))
            continue;
        const struct tc_context *context = context_of(invariant, pairs[i].field);
        if (context ? !has_value(context, pairs[i].value) : tc_field_is_strict_context(field))
            return false;
    }
    return true;
}
