/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.c - situations of rows as a list, with sorted lists of pipelines
 *
 * Fields that the relation bans are taken out first, so rows that differ only in these are one
 * case. Cases of a hypothesis are few, so they are searched one by one.
 */
#include "infer/cases.h"

#include <string.h>

static void insert(struct tc_pipelines *pipelines, uint32_t pipeline)
{
    size_t i = pipelines->n;

    while (i > 0 && pipelines->items[i - 1] > pipeline)
        i--;
    if (i > 0 && pipelines->items[i - 1] == pipeline)
        return;
    tc_vec_push(pipelines, pipeline);
    memmove(&pipelines->items[i + 1], &pipelines->items[i],
            (pipelines->n - 1 - i) * sizeof(pipeline));
    pipelines->items[i] = pipeline;
}

void tc_pipelines_add(struct tc_pipelines *pipelines, const struct tc_row *row)
{
    for (size_t i = 0; i < row->pipelines.n; i++)
        insert(pipelines, row->pipelines.items[i]);
}

static void release_case(struct tc_case *c)
{
    tc_vec_release(&c->pipelines);
}

void tc_cases_release(struct tc_cases *cases)
{
    for (size_t i = 0; i < cases->n; i++)
        release_case(&cases->items[i]);
    tc_vec_release(cases);
}

static struct tc_case *find_case(const struct tc_cases *cases, tc_sym situation)
{
    for (size_t i = 0; i < cases->n; i++)
        if (cases->items[i].situation == situation)
            return &cases->items[i];
    return NULL;
}

/* The situation of a row without what is no explanation; interned, as equal ones are one case. */
static tc_sym visible(const struct tc_evidence *evidence, const struct tc_row *row,
                      const struct tc_hides *hides)
{
    struct tc_situation situation = {.n = 0};
    size_t n;
    const struct tc_pair *pairs = tc_row_situation(evidence, row, &n);

    if (!hides->relation->bans)
        return row->situation;
    for (size_t i = 0; i < n; i++)
        if (!tc_relation_bans(hides->relation, evidence->symbols, hides->params, hides->n_params,
                              pairs[i].field))
            situation.pairs[situation.n++] = pairs[i];
    return tc_strtab_intern(evidence->arrays, situation.pairs, situation.n * sizeof(*pairs));
}

void tc_cases_add(struct tc_cases *cases, const struct tc_evidence *evidence,
                  const struct tc_row *row, const struct tc_hides *hides)
{
    tc_sym situation = visible(evidence, row, hides);
    struct tc_case *c = find_case(cases, situation);

    cases->count += row->count;
    if (!c) {
        const struct tc_row like = {.situation = situation};
        struct tc_case new = {.situation = situation, .row = row};
        new.pairs = tc_row_situation(evidence, &like, &new.n_pairs);
        tc_vec_push(cases, new);
        c = &cases->items[cases->n - 1];
    }
    tc_pipelines_add(&c->pipelines, row);
}

void tc_cases_remove_all(struct tc_cases *cases, const struct tc_cases *others)
{
    size_t kept = 0;

    for (size_t i = 0; i < cases->n; i++) {
        if (find_case(others, cases->items[i].situation))
            release_case(&cases->items[i]);
        else
            cases->items[kept++] = cases->items[i];
    }
    cases->n = kept;
}

size_t tc_cases_pipelines(const struct tc_cases *cases)
{
    struct tc_pipelines all = {0};

    for (size_t i = 0; i < cases->n; i++)
        for (size_t j = 0; j < cases->items[i].pipelines.n; j++)
            insert(&all, cases->items[i].pipelines.items[j]);
    size_t n = all.n;
    tc_vec_release(&all);
    return n;
}
