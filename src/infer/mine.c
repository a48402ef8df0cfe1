/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mine.c - source by source: rows sorted by key, hypotheses proposed and tested, the rest
 * condensed
 *
 * Rows are sorted by texts, never by numbers of words, so that invariants come out the same for
 * any order of traces. A form proposes from the outcomes of one key; deduce decides. What is left
 * is thinned by its source, counted anew on the rows, held against held-out traces and handed over
 * with id and sentence. Evidence is only read, but its words grow.
 */
#include "infer/mine.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "fact/needs.h"
#include "fact/profile.h"
#include "fact/source.h"

/* Rows of one source, ordered by key. */
struct row_list {
    const struct tc_row **items;
    size_t n;
    struct tc_map begins; /* key → the place of its first row */
};

/* Everything about one source while the forms that ask it are mined. */
struct mining {
    const struct tc_evidence *evidence;
    const struct tc_source *source;
    const struct tc_relation *relation; /* the form in work */
    const struct tc_mine_options *options;
    struct tc_invariant_set accepted; /* of all forms of the source */
    struct tc_failures *failures;     /* or NULL */
    struct tc_mined *mined;
    struct row_list rows, held_out; /* of the source */
    struct tc_arena of_key;         /* emptied for each key */
};

/* ---- rows by key --------------------------------------------------------------------------- */

/* The numbers of words depend on the order of the traces; their texts do not. */
static void add_sorted(struct tc_strbuf *out, char **texts, size_t n)
{
    qsort(texts, n, sizeof(*texts), tc_compare_texts);
    for (size_t i = 0; i < n; i++) {
        tc_strbuf_addc(out, '\n');
        tc_strbuf_adds(out, texts[i]);
        tc_free(texts[i]);
    }
}

static void add_situation(const struct tc_evidence *evidence, const struct tc_row *row,
                          struct tc_strbuf *out)
{
    size_t n;
    const struct tc_pair *pairs = tc_row_situation(evidence, row, &n);
    char *texts[TC_SITUATION_MAX];

    for (size_t i = 0; i < n; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        tc_strbuf_adds(&text, tc_strtab_text(evidence->symbols, pairs[i].field));
        tc_strbuf_addc(&text, '=');
        tc_strbuf_adds(&text, tc_strtab_text(evidence->symbols, pairs[i].value));
        texts[i] = tc_strbuf_take(&text);
    }
    add_sorted(out, texts, n);
}

static void add_outcome(const struct tc_evidence *evidence, const struct tc_row *row,
                        struct tc_strbuf *out)
{
    size_t n;
    const tc_sym *outcome = tc_row_outcome(evidence, row, &n);
    char **texts = tc_calloc(n + 1, sizeof(*texts));

    for (size_t i = 0; i < n; i++)
        texts[i] = tc_strdup(tc_strtab_text(evidence->symbols, outcome[i]));
    if (tc_sources[row->source]->is_set)
        add_sorted(out, texts, n);
    for (size_t i = 0; i < n && !tc_sources[row->source]->is_set; i++) {
        tc_strbuf_addf(out, "\n%s", texts[i]);
        tc_free(texts[i]);
    }
    tc_free(texts);
}

/* Rows in an order that does not depend on that of the traces: by the texts they stand for. */
struct row_text {
    const char *key;
    char *text;
    const struct tc_row *row;
};

/* The key apart, so that its rows stand side by side whatever is in its text. */
static int compare_rows(const void *a_, const void *b_)
{
    const struct row_text *a = a_, *b = b_;
    int order = strcmp(a->key, b->key);

    return order ? order : strcmp(a->text, b->text);
}

static char *text_of_row(const struct tc_evidence *evidence, const struct tc_row *row)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    add_situation(evidence, row, &text);
    add_outcome(evidence, row, &text);
    return tc_strbuf_take(&text);
}

static struct row_list order_rows(const struct tc_evidence *evidence, uint32_t source)
{
    struct row_text *texts = tc_calloc(evidence->rows.n + 1, sizeof(*texts));
    struct row_list list = {0};

    for (size_t i = 0; i < evidence->rows.n; i++) {
        const struct tc_row *row = &evidence->rows.items[i];
        if (row->source == source)
            texts[list.n++] = (struct row_text){tc_strtab_text(evidence->symbols, row->key),
                                                text_of_row(evidence, row), row};
    }
    qsort(texts, list.n, sizeof(*texts), compare_rows);
    list.items = tc_calloc(list.n + 1, sizeof(*list.items));
    for (size_t i = 0; i < list.n; i++) {
        list.items[i] = texts[i].row;
        if (i == 0 || list.items[i]->key != list.items[i - 1]->key)
            tc_map_put(&list.begins, list.items[i]->key, i);
        tc_free(texts[i].text);
    }
    tc_free(texts);
    return list;
}

static struct tc_deduce_rows rows_of_key(const struct mining *m, const struct tc_evidence *evidence,
                                         const struct row_list *list, tc_sym key)
{
    struct tc_deduce_rows rows = {
        .evidence = evidence, .relation = m->relation, .is_one_script = m->options->is_one_script};

    uint64_t begin;

    if (!tc_map_get(&list->begins, key, &begin))
        return rows;
    rows.rows = &list->items[begin];
    while (begin + rows.n < list->n && rows.rows[rows.n]->key == key)
        rows.n++;
    return rows;
}

static struct tc_deduce_rows learned_rows(const struct mining *m, tc_sym key)
{
    return rows_of_key(m, m->evidence, &m->rows, key);
}

/* Was one of the pipelines of a held-out row asked for what the invariant needs? */
static bool row_tells(const struct mining *m, const struct tc_row *row,
                      const struct tc_invariant *invariant)
{
    const struct tc_evidence *held_out = m->options->held_out;

    for (size_t i = 0; i < row->pipelines.n; i++) {
        const tc_sym name = held_out->pipelines.items[row->pipelines.items[i]];
        if (tc_selections_tell(m->options->held_selections, tc_strtab_text(held_out->symbols, name),
                               held_out->symbols, invariant))
            return true;
    }
    return false;
}

/* Those that tell of the invariant; valid until the next key. */
static struct tc_deduce_rows held_out_rows(struct mining *m, tc_sym key,
                                           const struct tc_invariant *invariant)
{
    struct tc_deduce_rows rows = rows_of_key(m, m->options->held_out, &m->held_out, key);
    size_t n = 0;

    if (!m->options->held_selections->items.n)
        return rows;
    const struct tc_row **telling = tc_arena_alloc(&m->of_key, (rows.n + 1) * sizeof(*telling));
    for (size_t i = 0; i < rows.n; i++)
        if (row_tells(m, rows.rows[i], invariant))
            telling[n++] = rows.rows[i];
    rows.rows = telling;
    rows.n = n;
    return rows;
}

/* Was any held-out trace asked for it? */
static bool is_invariant_told(const struct mining *m, const struct tc_invariant *invariant)
{
    const struct tc_evidence *held_out = m->options->held_out;

    for (size_t i = 0; i < held_out->pipelines.n; i++)
        if (tc_selections_tell(m->options->held_selections,
                               tc_strtab_text(held_out->symbols, held_out->pipelines.items[i]),
                               held_out->symbols, invariant))
            return true;
    return false;
}

/* ---- hypotheses ---------------------------------------------------------------------------- */

static void note_refuted(const struct mining *m, const struct tc_invariant *refuted,
                         const struct tc_row *counterexample)
{
    const struct tc_strtab *symbols = m->evidence->symbols;
    struct tc_strbuf text = TC_STRBUF_INIT;
    const char *where = counterexample->first == TC_NO_SYM
                            ? "an example"
                            : tc_strtab_text(symbols, counterexample->first);

    tc_relation_describe(m->relation, symbols, refuted, &text);
    tc_notes_add(m->options->notes, "held-out", text.text, 0, "dropped, broken at %s", where);
    tc_strbuf_release(&text);
}

static void test_hypothesis(struct mining *m, const struct tc_deduce_rows *rows,
                            const struct tc_hypothesis *hypothesis)
{
    struct tc_invariant found = {
        .relation = tc_strtab_intern_text(m->evidence->symbols, m->relation->name)};
    const struct tc_row *counterexample;
    enum tc_deduction result = tc_deduce(rows, hypothesis, &m->options->deduce, &m->accepted.arena,
                                         &found, &counterexample);

    if (result == TC_DEDUCE_ACCEPTED && m->options->held_out) {
        struct tc_deduce_rows held_out = held_out_rows(m, rows->rows[0]->key, &found);
        result = tc_deduce_validate(&held_out, &found, &counterexample);
        if (result == TC_DEDUCE_REFUTED)
            note_refuted(m, &found, counterexample);
    }
    m->mined->dropped[result]++;
    if (result == TC_DEDUCE_ACCEPTED)
        *tc_invariant_add(&m->accepted) = found;
    else if (m->failures)
        tc_failures_add(m->failures, rows, &found, result, counterexample);
}

static void outcomes_of(const struct tc_deduce_rows *rows, struct tc_outcomes *outcomes,
                        struct tc_arena *arena)
{
    outcomes->outcome = tc_arena_alloc(arena, (rows->n + 1) * sizeof(*outcomes->outcome));
    outcomes->n_outcome = tc_arena_alloc(arena, (rows->n + 1) * sizeof(*outcomes->n_outcome));
    outcomes->n = rows->n;
    for (size_t i = 0; i < rows->n; i++)
        outcomes->outcome[i] =
            tc_row_outcome(rows->evidence, rows->rows[i], &outcomes->n_outcome[i]);
}

static void mine_key(struct mining *m, tc_sym key)
{
    struct tc_deduce_rows rows = learned_rows(m, key);
    struct tc_hypotheses hypotheses = {0};
    struct tc_outcomes outcomes;

    tc_arena_reset(&m->of_key);
    outcomes_of(&rows, &outcomes, &m->of_key);
    tc_relation_propose(m->relation, m->evidence->symbols, key, &outcomes, &hypotheses);
    for (size_t i = 0; i < hypotheses.items.n; i++) {
        struct tc_hypothesis *hypothesis = &hypotheses.items.items[i];
        if (hypothesis->params[0].kind == TC_PARAM_FACT) /* its own, wherever it was moved */
            hypothesis->params[0].fact = &hypothesis->fact;
        test_hypothesis(m, &rows, hypothesis);
    }
    tc_vec_release(&hypotheses.items);
}

/* ---- what is left -------------------------------------------------------------------------- */

/* Joined invariants are counted anew on the rows that decide about them. */
static void recount(struct mining *m)
{
    for (size_t i = 0; i < m->accepted.items.n; i++) {
        struct tc_invariant *x = m->accepted.items.items[i];
        m->relation = tc_relation_find(tc_strtab_text(m->evidence->symbols, x->relation));
        tc_sym key = tc_relation_key(m->relation, m->evidence->symbols, x->params, x->n_params);
        struct tc_deduce_rows rows = learned_rows(m, key);
        tc_deduce_count(&rows, &m->accepted.arena, x);
    }
}

static void each_row(const struct tc_rows *rows, tc_sym key,
                     void (*visit)(void *context, const struct tc_example *row), void *context)
{
    const struct mining *m = rows->context;
    struct tc_deduce_rows of_key = learned_rows(m, key);

    for (size_t i = 0; i < of_key.n; i++) {
        struct tc_situation situation;
        struct tc_example row = {.key = key, .situation = &situation};
        const struct tc_pair *pairs = tc_row_situation(m->evidence, of_key.rows[i], &situation.n);
        memcpy(situation.pairs, pairs, situation.n * sizeof(*pairs));
        row.outcome = tc_row_outcome(m->evidence, of_key.rows[i], &row.n_outcome);
        visit(context, &row);
    }
}

static void condense(struct mining *m)
{
    const struct tc_rows rows = {m->evidence->symbols, m, each_row};
    size_t before = m->accepted.items.n;

    if (!m->source->condense || m->options->keep_implied)
        return;
    m->source->condense(&rows, &m->accepted);
    recount(m);
    m->mined->n_implied += before - m->accepted.items.n;
}

static void find_needs(struct mining *m)
{
    const struct tc_rows rows = {m->evidence->symbols, m, each_row};

    if (m->source == &tc_source_facts)
        tc_fact_find_needs(&rows, &m->accepted);
    for (size_t i = 0; i < m->accepted.items.n; i++) {
        struct tc_invariant *x = m->accepted.items.items[i];
        if (tc_relation_find(tc_strtab_text(m->evidence->symbols, x->relation))->needs_operators)
            x->needs |= TC_NEED_BIT(TC_NEED_OPERATORS);
    }
}

/* What held-out traces say of the invariants that are left. */
static void confirm(struct mining *m)
{
    const struct tc_row *counterexample;

    for (size_t i = 0; m->options->held_out && i < m->accepted.items.n; i++) {
        struct tc_invariant *x = m->accepted.items.items[i];
        m->relation = tc_relation_find(tc_strtab_text(m->evidence->symbols, x->relation));
        tc_sym key = tc_relation_key(m->relation, m->evidence->symbols, x->params, x->n_params);
        struct tc_deduce_rows rows = held_out_rows(m, key, x);
        tc_deduce_validate(&rows, x, &counterexample);
        m->mined->n_confirmed += x->held_out > 0;
        m->mined->n_untold += !is_invariant_told(m, x);
    }
}

/* Into the set that is returned, with id and sentence. */
static void hand_over(struct mining *m, struct tc_invariant_set *set)
{
    for (size_t i = 0; i < m->accepted.items.n; i++) {
        struct tc_invariant *x = tc_invariant_add(set);
        struct tc_strbuf text = TC_STRBUF_INIT;
        *x = *m->accepted.items.items[i];
        if (tc_invariant_fact(x))
            x->params[0].fact =
                tc_arena_copy(&set->arena, x->params[0].fact, sizeof(*x->params[0].fact));
        x->contexts = tc_arena_copy(&set->arena, x->contexts, x->n_contexts * sizeof(*x->contexts));
        for (size_t j = 0; j < x->n_contexts; j++)
            x->contexts[j].values =
                tc_arena_copy(&set->arena, x->contexts[j].values,
                              x->contexts[j].n_values * sizeof(*x->contexts[j].values));
        tc_invariant_name(x, set->symbols);
        tc_relation_describe(tc_relation_find(tc_strtab_text(set->symbols, x->relation)),
                             set->symbols, x, &text);
        x->text = tc_arena_text(&set->arena, text.text, text.size);
        tc_strbuf_release(&text);
    }
}

static void mine_relation(struct mining *m, const struct tc_relation *relation)
{
    m->relation = relation;
    for (size_t i = 0; i < m->rows.n; i++)
        if (i == 0 || m->rows.items[i]->key != m->rows.items[i - 1]->key)
            mine_key(m, m->rows.items[i]->key);
}

static void mine_source(struct mining *m, struct tc_invariant_set *set)
{
    tc_invariant_set_init(&m->accepted, m->evidence->symbols);
    m->rows = order_rows(m->evidence, tc_source_number(m->source));
    if (m->options->held_out)
        m->held_out = order_rows(m->options->held_out, tc_source_number(m->source));
    for (size_t i = 0; tc_relations[i]; i++)
        if (tc_relations[i]->source == m->source && m->options->enabled[i])
            mine_relation(m, tc_relations[i]);
    if (m->source == &tc_source_facts)
        m->mined->n_facts = m->accepted.items.n;
    if (m->source == &tc_source_facts && m->options->profile)
        tc_fact_profile(m->evidence->symbols, &m->accepted, m->options->profile);
    condense(m);
    find_needs(m);
    confirm(m);
    hand_over(m, set);
    tc_free(m->rows.items);
    tc_free(m->held_out.items);
    tc_map_release(&m->rows.begins);
    tc_map_release(&m->held_out.begins);
    tc_invariant_set_release(&m->accepted);
    tc_arena_release(&m->of_key);
}

void tc_mine(const struct tc_evidence *evidence, const struct tc_mine_options *options,
             struct tc_invariant_set *set, struct tc_failures *failures, struct tc_mined *mined)
{
    *mined = (struct tc_mined){0};
    for (size_t i = 0; tc_sources[i]; i++) {
        struct mining m = {.evidence = evidence,
                           .source = tc_sources[i],
                           .options = options,
                           .failures = failures,
                           .mined = mined};
        mine_source(&m, set);
    }
    tc_invariant_set_sort(set);
}
