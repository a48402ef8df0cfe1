/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.h - distinct situations, each with the pipelines that met it
 */
#ifndef TC_INFER_CASES_H
#define TC_INFER_CASES_H

#include "relation/evidence.h"

/* A set of pipelines, ascending. */
struct tc_pipelines {
    uint32_t *items;
    size_t n, cap;
};

void tc_pipelines_add(struct tc_pipelines *pipelines, const struct tc_row *row);

struct tc_case {
    tc_sym situation;
    const struct tc_pair *pairs;
    size_t n_pairs;
    struct tc_pipelines pipelines;
    const struct tc_row *row; /* the first that had it */
};

struct tc_cases {
    struct tc_case *items;
    size_t n, cap;
    uint64_t count; /* examples */
};

void tc_cases_release(struct tc_cases *cases);
/* Which fields are no explanation: what the relation bans for these params. */
struct tc_hides {
    const struct tc_relation *relation;
    const struct tc_param *params;
    size_t n_params;
};

void tc_cases_add(struct tc_cases *cases, const struct tc_evidence *evidence,
                  const struct tc_row *row, const struct tc_hides *hides);
/* Remove the situations that are also in others. */
void tc_cases_remove_all(struct tc_cases *cases, const struct tc_cases *others);
/* In how many pipelines any of them was met. */
size_t tc_cases_pipelines(const struct tc_cases *cases);

#endif /* TC_INFER_CASES_H */
