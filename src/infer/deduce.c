/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deduce.c - one hypothesis against its rows: counts, precondition, support, contexts, validation
 *
 * Rows are split into cases that held and that broke; a situation with both counts as broken. A
 * precondition is only accepted if what it leaves is enough evidence: more of it for each clause,
 * as a clause is a choice among many. The reasons for a refusal are those of tc_deduction_text().
 * Rows are only read.
 */
#include "infer/deduce.h"

#include <stdlib.h>
#include <string.h>

#include "infer/cases.h"
#include "infer/clauses.h"
#include "invariant/situation_field.h"

/* A precondition must cover this share of the pipelines in which the hypothesis held. */
#define MIN_COVER 0.8

const char *tc_deduction_text(enum tc_deduction deduction)
{
    static const char *const texts[TC_DEDUCE_COUNT] = {
#define X(name, text) [TC_DEDUCE_##name] = (text),
        TC_VERDICT_MAP(X)
#undef X
    };

    return texts[deduction];
}

static unsigned examples_wanted(const struct tc_hypothesis *hypothesis,
                                const struct tc_deduce_options *options)
{
    return hypothesis->min_examples ? hypothesis->min_examples : options->min_support;
}

/* Every clause is one more choice among a hundred: what it fits must be seen more often. What a run
 * uses is no such choice. */
#define PIPELINES_PER_CLAUSE 2

static unsigned count_choices(const struct tc_strtab *symbols, const struct tc_invariant *invariant)
{
    unsigned n = 0;

    for (size_t i = 0; i < invariant->n_when; i++)
        n += !tc_field_is_use(tc_strtab_text(symbols, invariant->when[i].field));
    return n;
}

/* Of how many witnesses the evidence is. Two runs of one script are no two: else the second would
 * raise every threshold, and less would be learned from more. */
static size_t n_witnesses(const struct tc_deduce_rows *rows)
{
    size_t n = rows->evidence->pipelines.n;

    return rows->is_one_script && n ? 1 : n;
}

static unsigned pipelines_wanted(const struct tc_deduce_rows *rows,
                                 const struct tc_hypothesis *hypothesis,
                                 const struct tc_deduce_options *options, unsigned n_choices)
{
    const unsigned pipelines = tc_support_pipelines(hypothesis->support);

    if (pipelines == TC_PIPELINES_ALL)
        return (unsigned)rows->evidence->pipelines.n;
    if (n_witnesses(rows) < 2)
        return 1;
    if (pipelines == TC_PIPELINES_ONLY)
        return pipelines;
    return options->min_pipelines ? options->min_pipelines
                                  : pipelines + PIPELINES_PER_CLAUSE * n_choices;
}

/* A situation met with both outcomes counts as broken; what held only there cannot be told apart.
 */
static bool set_mixed_aside(struct tc_cases *held, const struct tc_cases *broken)
{
    size_t n_pipelines = tc_cases_pipelines(held);

    tc_cases_remove_all(held, broken);
    return held->n && tc_cases_pipelines(held) * 2 >= n_pipelines;
}

/* Find the clauses; true also when none is needed. */
static enum tc_deduction find_when(const struct tc_deduce_rows *rows, struct tc_cases *held,
                                   const struct tc_cases *broken, struct tc_invariant *invariant)
{
    size_t n_pipelines = tc_cases_pipelines(held);
    const unsigned witnesses = n_witnesses(rows) > 1 ? 2 : 1;
    const struct tc_clause_limits limits = {witnesses, rows->relation->mode_only};
    size_t covered;

    if (!broken->n)
        return TC_DEDUCE_ACCEPTED;
    if (!set_mixed_aside(held, broken))
        return TC_DEDUCE_INSEPARABLE;
    if (!tc_clauses_search(rows->evidence->symbols, held, broken, &limits, invariant, &covered))
        return TC_DEDUCE_NO_PRECONDITION;
    if (covered < witnesses && covered < n_pipelines)
        return TC_DEDUCE_NARROW;
    return (double)covered < MIN_COVER * (double)n_pipelines ? TC_DEDUCE_NARROW
                                                             : TC_DEDUCE_ACCEPTED;
}

/* Of two places in one script the earlier one: "train.py:13, step 2" before "train.py:13, step 10".
 */
static bool is_met_earlier(const struct tc_strtab *symbols, const struct tc_row *a,
                           const struct tc_row *b)
{
    if (!b || a->first == TC_NO_SYM || b->first == TC_NO_SYM)
        return !b || b->first == TC_NO_SYM;
    return strverscmp(tc_strtab_text(symbols, a->first), tc_strtab_text(symbols, b->first)) < 0;
}

/* The first row that broke it although the clauses held; else the first that broke it. */
static const struct tc_row *find_counterexample(const struct tc_strtab *symbols,
                                                const struct tc_cases *broken,
                                                const struct tc_invariant *invariant)
{
    const struct tc_row *best = NULL;
    bool is_covered = false;

    for (size_t i = 0; i < broken->n; i++) {
        const struct tc_row *row = broken->items[i].row;
        bool covered = tc_when_holds(invariant->when, invariant->n_when, broken->items[i].pairs,
                                     broken->items[i].n_pairs);
        if (covered > is_covered || (covered == is_covered && is_met_earlier(symbols, row, best))) {
            best = row;
            is_covered = covered;
        }
    }
    return best;
}

static void split(const struct tc_deduce_rows *rows, const struct tc_hypothesis *hypothesis,
                  struct tc_cases *held, struct tc_cases *broken)
{
    const struct tc_hides hides = {rows->relation, hypothesis->params, hypothesis->n_params};

    for (size_t i = 0; i < rows->n; i++) {
        size_t n;
        const tc_sym *outcome = tc_row_outcome(rows->evidence, rows->rows[i], &n);
        enum tc_outcome result =
            tc_relation_holds(rows->relation, rows->evidence->symbols, hypothesis->params,
                              hypothesis->n_params, outcome, n);
        if (!tc_is_undecided(result))
            tc_cases_add(result == TC_HELD ? held : broken, rows->evidence, rows->rows[i], &hides);
    }
}

/* What the precondition excludes is no evidence: is the rest enough? */
static enum tc_deduction count_anew(const struct tc_deduce_rows *rows,
                                    const struct tc_hypothesis *hypothesis,
                                    const struct tc_deduce_options *options, struct tc_arena *arena,
                                    struct tc_invariant *invariant)
{
    tc_deduce_count(rows, arena, invariant);
    if (hypothesis->is_choice && n_witnesses(rows) < 2 && !invariant->n_when)
        return TC_DEDUCE_FEW_PIPELINES;
    if (invariant->held < examples_wanted(hypothesis, options))
        return TC_DEDUCE_FEW_EXAMPLES;
    unsigned n_choices = count_choices(rows->evidence->symbols, invariant);
    return invariant->pipelines < pipelines_wanted(rows, hypothesis, options, n_choices)
               ? TC_DEDUCE_FEW_PIPELINES
               : TC_DEDUCE_ACCEPTED;
}

/* A fact lives as long as its invariant. */
static void set_params(struct tc_invariant *invariant, const struct tc_hypothesis *hypothesis,
                       struct tc_arena *arena)
{
    memcpy(invariant->params, hypothesis->params, sizeof(invariant->params));
    invariant->n_params = hypothesis->n_params;
    if (tc_invariant_fact(invariant))
        invariant->params[0].fact =
            tc_arena_copy(arena, &hypothesis->fact, sizeof(hypothesis->fact));
}

enum tc_deduction tc_deduce(const struct tc_deduce_rows *rows,
                            const struct tc_hypothesis *hypothesis,
                            const struct tc_deduce_options *options, struct tc_arena *arena,
                            struct tc_invariant *invariant, const struct tc_row **counterexample)
{
    struct tc_cases held = {0}, broken = {0};
    enum tc_deduction result;

    split(rows, hypothesis, &held, &broken);
    set_params(invariant, hypothesis, arena);
    if (!held.n)
        result = TC_DEDUCE_NEVER_HELD;
    else if (held.count < examples_wanted(hypothesis, options))
        result = TC_DEDUCE_FEW_EXAMPLES;
    else if (tc_cases_pipelines(&held) < pipelines_wanted(rows, hypothesis, options, 0))
        result = TC_DEDUCE_FEW_PIPELINES;
    else
        result = find_when(rows, &held, &broken, invariant);
    *counterexample = find_counterexample(rows->evidence->symbols, &broken, invariant);
    if (result == TC_DEDUCE_ACCEPTED)
        result = count_anew(rows, hypothesis, options, arena, invariant);
    tc_cases_release(&held);
    tc_cases_release(&broken);
    return result;
}

/* ---- counting ------------------------------------------------------------------------------ */

/* Values of the context fields among what held, each with the pipelines that had it. */
struct sighting {
    struct tc_pair pair;
    struct tc_pipelines pipelines;
};

struct sightings {
    struct sighting *items;
    size_t n, cap;
};

static void see(struct sightings *sightings, struct tc_pair pair, const struct tc_row *row)
{
    size_t i = 0;

    while (i < sightings->n && (sightings->items[i].pair.field != pair.field ||
                                sightings->items[i].pair.value != pair.value))
        i++;
    if (i == sightings->n)
        tc_vec_push(sightings, (struct sighting){.pair = pair});
    tc_pipelines_add(&sightings->items[i].pipelines, row);
}

static void see_contexts(struct sightings *sightings, const struct tc_deduce_rows *rows,
                         const struct tc_invariant *invariant, const struct tc_row *row)
{
    const struct tc_strtab *symbols = rows->evidence->symbols;
    size_t n;
    const struct tc_pair *pairs = tc_row_situation(rows->evidence, row, &n);

    for (size_t i = 0; i < n; i++)
        if (tc_relation_has_context(rows->relation, symbols, invariant, pairs[i].field))
            see(sightings, pairs[i], row);
}

/* Texts beside the place they belong to: what qsort can compare without a context. */
struct sort_key {
    const char *field, *value;
    size_t place;
};

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    int order = strcmp(x->field, y->field);

    return order ? order : strcmp(x->value, y->value);
}

static struct sort_key *sorted(const struct sightings *sightings, const struct tc_strtab *symbols)
{
    struct sort_key *keys = tc_calloc(sightings->n + 1, sizeof(*keys));

    for (size_t i = 0; i < sightings->n; i++)
        keys[i] = (struct sort_key){tc_strtab_text(symbols, sightings->items[i].pair.field),
                                    tc_strtab_text(symbols, sightings->items[i].pair.value), i};
    qsort(keys, sightings->n, sizeof(*keys), compare_keys);
    return keys;
}

/* A value counts as known once two pipelines had it, or the only one. A field of which no value was
 * confirmed stays, with no value: it is judged nowhere but where it is absent. */
static void set_contexts(const struct sightings *sightings, const struct tc_strtab *symbols,
                         size_t n_pipelines, struct tc_arena *arena, struct tc_invariant *invariant)
{
    size_t witnesses = n_pipelines < 2 ? 1 : 2;
    struct sort_key *keys = sorted(sightings, symbols);

    invariant->contexts = tc_arena_zalloc(arena, sightings->n * sizeof(*invariant->contexts) + 1);
    invariant->n_contexts = 0;
    for (size_t i = 0; i < sightings->n; i++) {
        const struct sighting *s = &sightings->items[keys[i].place];
        struct tc_context *context = &invariant->contexts[invariant->n_contexts];
        if (i > 0 && context[-1].field == s->pair.field) {
            context--;
        } else {
            context->field = s->pair.field;
            context->values = tc_arena_alloc(arena, sightings->n * sizeof(*context->values));
            invariant->n_contexts++;
        }
        if (s->pipelines.n >= witnesses)
            context->values[context->n_values++] = s->pair.value;
    }
    tc_free(keys);
}

void tc_deduce_count(const struct tc_deduce_rows *rows, struct tc_arena *arena,
                     struct tc_invariant *invariant)
{
    struct sightings sightings = {0};
    struct tc_pipelines pipelines = {0};

    invariant->held = invariant->broken = invariant->excluded = 0;
    invariant->windows = (struct tc_fact_windows){0};
    for (size_t i = 0; i < rows->n; i++) {
        const struct tc_row *row = rows->rows[i];
        size_t n, n_pairs;
        const tc_sym *outcome = tc_row_outcome(rows->evidence, row, &n);
        const struct tc_pair *pairs = tc_row_situation(rows->evidence, row, &n_pairs);
        enum tc_outcome result =
            tc_relation_holds(rows->relation, rows->evidence->symbols, invariant->params,
                              invariant->n_params, outcome, n);
        if (tc_is_undecided(result))
            continue;
        if (!tc_when_holds(invariant->when, invariant->n_when, pairs, n_pairs)) {
            invariant->excluded += row->count;
        } else if (result == TC_BROKEN) {
            invariant->broken += row->count;
        } else {
            invariant->held += row->count;
            invariant->windows.met += row->windows.met;
            invariant->windows.of += row->windows.of;
            tc_pipelines_add(&pipelines, row);
            see_contexts(&sightings, rows, invariant, row);
        }
    }
    invariant->pipelines = pipelines.n;
    set_contexts(&sightings, rows->evidence->symbols, rows->is_one_script ? 1 : pipelines.n, arena,
                 invariant);
    for (size_t i = 0; i < sightings.n; i++)
        tc_vec_release(&sightings.items[i].pipelines);
    tc_vec_release(&sightings);
    tc_vec_release(&pipelines);
}

/* ---- validating ---------------------------------------------------------------------------- */

static bool is_judged(const struct tc_deduce_rows *rows, const struct tc_invariant *invariant,
                      const struct tc_row *row)
{
    size_t n;
    const struct tc_pair *pairs = tc_row_situation(rows->evidence, row, &n);

    return tc_when_holds(invariant->when, invariant->n_when, pairs, n) &&
           tc_context_is_known(rows->relation, rows->evidence->symbols, invariant, pairs, n);
}

enum tc_deduction tc_deduce_validate(const struct tc_deduce_rows *rows,
                                     struct tc_invariant *invariant,
                                     const struct tc_row **counterexample)
{
    struct tc_pipelines pipelines = {0};
    enum tc_deduction result = TC_DEDUCE_ACCEPTED;

    invariant->is_validated = true;
    invariant->held_out = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct tc_row *row = rows->rows[i];
        size_t n;
        const tc_sym *outcome = tc_row_outcome(rows->evidence, row, &n);
        enum tc_outcome seen =
            tc_relation_holds(rows->relation, rows->evidence->symbols, invariant->params,
                              invariant->n_params, outcome, n);
        if (tc_is_undecided(seen) || !is_judged(rows, invariant, row))
            continue;
        if (seen == TC_HELD) {
            invariant->held_out += row->count;
            tc_pipelines_add(&pipelines, row);
        } else if (result == TC_DEDUCE_ACCEPTED ||
                   is_met_earlier(rows->evidence->symbols, row, *counterexample)) {
            result = TC_DEDUCE_REFUTED;
            *counterexample = row;
        }
    }
    invariant->held_out_pipelines = pipelines.n;
    tc_vec_release(&pipelines);
    return result;
}
