/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clauses.h - the search for a conjunction that separates what held from what broke
 */
#ifndef TC_INFER_CLAUSES_H
#define TC_INFER_CLAUSES_H

#include "infer/cases.h"

struct tc_clause_limits {
    unsigned witnesses; /* pipelines that a clause on an open field needs */
    bool mode_only;     /* only fields that say in which mode a call was made */
};

/*
 * Put into invariant->when the best conjunction of at most three clauses that is false on all of
 * broken: the one that is true on most of held, then the shortest, then the first by the order of
 * fields. A clause on an open field needs as many pipelines as witnesses. *covered is in how many
 * pipelines it is true on something. False if there is none: then when is the best attempt, which
 * is true on at least half of held and leaves little of broken; it may be empty.
 */
bool tc_clauses_search(const struct tc_strtab *symbols, const struct tc_cases *held,
                       const struct tc_cases *broken, const struct tc_clause_limits *limits,
                       struct tc_invariant *invariant, size_t *covered);

#endif /* TC_INFER_CLAUSES_H */
