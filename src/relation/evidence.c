/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.c - rows found by a tuple of four numbers, and merged by translating words
 *
 * Situations and outcomes are interned arrays of symbols; a row is found by the number of its
 * tuple. Symbols of another evidence are translated through their texts, and translated arrays are
 * sorted again. Pipelines of a row are sorted numbers. A pointer to a row is valid until the next
 * row is added.
 */
#include "relation/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "replay/symbols.h"

void tc_evidence_init(struct tc_evidence *evidence)
{
    *evidence = (struct tc_evidence){.symbols = tc_symbols_new(),
                                     .arrays = tc_strtab_new(),
                                     .tuples = tc_strtab_new(),
                                     .has_own_symbols = true};
}

void tc_evidence_init_beside(struct tc_evidence *evidence, const struct tc_evidence *other)
{
    *evidence = (struct tc_evidence){
        .symbols = other->symbols, .arrays = tc_strtab_new(), .tuples = tc_strtab_new()};
}

void tc_evidence_release(struct tc_evidence *evidence)
{
    for (size_t i = 0; i < evidence->rows.n; i++)
        tc_vec_release(&evidence->rows.items[i].pipelines);
    tc_vec_release(&evidence->rows);
    tc_vec_release(&evidence->pipelines);
    if (evidence->has_own_symbols)
        tc_strtab_free(evidence->symbols);
    tc_strtab_free(evidence->arrays);
    tc_strtab_free(evidence->tuples);
}

uint32_t tc_evidence_pipeline(struct tc_evidence *evidence, const char *name)
{
    tc_sym sym = tc_strtab_intern_text(evidence->symbols, name);

    for (uint32_t i = 0; i < evidence->pipelines.n; i++)
        if (evidence->pipelines.items[i] == sym)
            return i;
    tc_vec_push(&evidence->pipelines, sym);
    return (uint32_t)(evidence->pipelines.n - 1);
}

void tc_row_add_pipeline(struct tc_row *row, uint32_t pipeline)
{
    size_t i = row->pipelines.n;

    while (i > 0 && row->pipelines.items[i - 1] > pipeline)
        i--;
    if (i > 0 && row->pipelines.items[i - 1] == pipeline)
        return;
    tc_vec_push(&row->pipelines, pipeline);
    memmove(&row->pipelines.items[i + 1], &row->pipelines.items[i],
            (row->pipelines.n - 1 - i) * sizeof(pipeline));
    row->pipelines.items[i] = pipeline;
}

static struct tc_row *row_at(struct tc_evidence *evidence, const struct tc_row *like)
{
    const uint32_t tuple[] = {like->source, like->key, like->situation, like->outcome};
    tc_sym number = tc_strtab_intern(evidence->tuples, tuple, sizeof(tuple));

    if (number == evidence->rows.n) {
        struct tc_row row = {.source = like->source,
                             .key = like->key,
                             .situation = like->situation,
                             .outcome = like->outcome,
                             .first = TC_NO_SYM};
        tc_vec_push(&evidence->rows, row);
    }
    return &evidence->rows.items[number];
}

static void add_windows(struct tc_row *row, const struct tc_fact_windows *windows)
{
    row->windows.met += windows->met;
    row->windows.of += windows->of;
}

struct tc_row *tc_evidence_add(struct tc_evidence *evidence, uint32_t source,
                               const struct tc_example *example, uint32_t pipeline)
{
    struct tc_row like = {.source = source, .key = example->key};
    const struct tc_situation *situation = example->situation;

    like.situation = tc_strtab_intern(evidence->arrays, situation->pairs,
                                      situation->n * sizeof(*situation->pairs));
    like.outcome = tc_strtab_intern(evidence->arrays, example->outcome,
                                    example->n_outcome * sizeof(*example->outcome));
    struct tc_row *row = row_at(evidence, &like);
    row->count++;
    add_windows(row, &example->windows);
    tc_row_add_pipeline(row, pipeline);
    return row;
}

/* The smaller text stays, so that the order of merging does not show. */
static void merge_first(struct tc_row *row, const struct tc_strtab *symbols, tc_sym first)
{
    if (first == TC_NO_SYM)
        return;
    if (row->first == TC_NO_SYM ||
        strcmp(tc_strtab_text(symbols, first), tc_strtab_text(symbols, row->first)) < 0)
        row->first = first;
}

void tc_evidence_add_row(struct tc_evidence *evidence, const struct tc_row *from)
{
    struct tc_row *row = row_at(evidence, from);

    row->count += from->count;
    add_windows(row, &from->windows);
    for (size_t i = 0; i < from->pipelines.n; i++)
        tc_row_add_pipeline(row, from->pipelines.items[i]);
    merge_first(row, evidence->symbols, from->first);
}

const struct tc_pair *tc_row_situation(const struct tc_evidence *evidence, const struct tc_row *row,
                                       size_t *n)
{
    *n = tc_strtab_size(evidence->arrays, row->situation) / sizeof(struct tc_pair);
    return (const void *)tc_strtab_text(evidence->arrays, row->situation);
}

const tc_sym *tc_row_outcome(const struct tc_evidence *evidence, const struct tc_row *row,
                             size_t *n)
{
    *n = tc_strtab_size(evidence->arrays, row->outcome) / sizeof(tc_sym);
    return (const void *)tc_strtab_text(evidence->arrays, row->outcome);
}

/* ---- merging: the same words have other numbers elsewhere ---------------------------------- */

struct translation {
    struct tc_evidence *into;
    const struct tc_evidence *from;
};

static tc_sym translate(const struct translation *t, tc_sym sym)
{
    return tc_symbols_str(t->into->symbols, tc_symbols_text(t->from->symbols, sym));
}

static tc_sym translate_outcome(const struct translation *t, const struct tc_row *row)
{
    size_t n;
    const tc_sym *outcome = tc_row_outcome(t->from, row, &n);
    tc_sym *copy = tc_malloc(n * sizeof(*copy) + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = translate(t, outcome[i]);
    if (tc_sources[row->source]->is_set)
        qsort(copy, n, sizeof(*copy), tc_sym_compare);
    tc_sym result = tc_strtab_intern(t->into->arrays, copy, n * sizeof(*copy));
    tc_free(copy);
    return result;
}

static tc_sym translate_situation(const struct translation *t, const struct tc_row *row)
{
    struct tc_situation situation = {.n = 0};
    size_t n;
    const struct tc_pair *pairs = tc_row_situation(t->from, row, &n);

    for (size_t i = 0; i < n; i++)
        tc_situation_set(&situation, translate(t, pairs[i].field), translate(t, pairs[i].value));
    tc_situation_sort(&situation);
    return tc_strtab_intern(t->into->arrays, situation.pairs, n * sizeof(*pairs));
}

static void merge_row(const struct translation *t, const struct tc_row *source,
                      const uint32_t *pipelines)
{
    const struct tc_row like = {.source = source->source,
                                .key = translate(t, source->key),
                                .situation = translate_situation(t, source),
                                .outcome = translate_outcome(t, source)};
    struct tc_row *row = row_at(t->into, &like);

    row->count += source->count;
    add_windows(row, &source->windows);
    for (size_t i = 0; i < source->pipelines.n; i++)
        tc_row_add_pipeline(row, pipelines[source->pipelines.items[i]]);
    if (source->first != TC_NO_SYM)
        merge_first(row, t->into->symbols, translate(t, source->first));
}

void tc_evidence_merge(struct tc_evidence *into, const struct tc_evidence *from)
{
    struct translation t = {into, from};
    uint32_t *pipelines = tc_malloc(from->pipelines.n * sizeof(*pipelines) + 1);

    for (size_t i = 0; i < from->pipelines.n; i++)
        pipelines[i] =
            tc_evidence_pipeline(into, tc_strtab_text(from->symbols, from->pipelines.items[i]));
    for (size_t i = 0; i < from->rows.n; i++)
        merge_row(&t, &from->rows.items[i], pipelines);
    tc_free(pipelines);
}
