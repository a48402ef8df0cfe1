/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deduce.h - from evidence and a hypothesis to a precondition, or to a reason why there is none
 *
 * Exact on distinct situations: nothing is sampled. A precondition is a conjunction of at most
 * three clauses, false on every situation in which the hypothesis broke and true on most in which
 * it held.
 */
#ifndef TC_INFER_DEDUCE_H
#define TC_INFER_DEDUCE_H

#include "relation/evidence.h"

#define TC_VERDICT_MAP(X)                                        \
    X(ACCEPTED, "accepted")                                      \
    X(NEVER_HELD, "never held")                                  \
    X(FEW_EXAMPLES, "too few examples")                          \
    X(FEW_PIPELINES, "too few pipelines")                        \
    X(INSEPARABLE, "held and broke in equal situations")         \
    X(NO_PRECONDITION, "no precondition separates the examples") \
    X(NARROW, "precondition covers too few pipelines")           \
    X(REFUTED, "broken by a held-out trace")

enum tc_deduction {
#define X(name, text) TC_DEDUCE_##name,
    TC_VERDICT_MAP(X)
#undef X
    TC_DEDUCE_COUNT
};

const char *tc_deduction_text(enum tc_deduction deduction);

struct tc_deduce_options {
    unsigned min_support;   /* examples that held */
    unsigned min_pipelines; /* 0: as the hypothesis asks */
};

/* The rows of one (relation, key). */
struct tc_deduce_rows {
    const struct tc_evidence *evidence;
    const struct tc_relation *relation;
    const struct tc_row **rows;
    size_t n;
    bool is_one_script; /* all pipelines are runs of one: they count as one */
};

/*
 * Decide about a hypothesis. The invariant gets params and when; on TC_DEDUCE_ACCEPTED also counts
 * and contexts (in arena). Otherwise when is the best attempt at a precondition, and
 * *counterexample a row that broke the hypothesis in spite of it, or NULL.
 */
enum tc_deduction tc_deduce(const struct tc_deduce_rows *rows,
                            const struct tc_hypothesis *hypothesis,
                            const struct tc_deduce_options *options, struct tc_arena *arena,
                            struct tc_invariant *invariant, const struct tc_row **counterexample);

/* Count held, broken, excluded, pipelines and contexts of an invariant anew. */
void tc_deduce_count(const struct tc_deduce_rows *rows, struct tc_arena *arena,
                     struct tc_invariant *invariant);

/*
 * Judge an invariant on rows of traces it was not learned from, as a check would: where its
 * precondition holds, in contexts that it knows. Counts what held. TC_DEDUCE_REFUTED names the row
 * that broke it.
 */
enum tc_deduction tc_deduce_validate(const struct tc_deduce_rows *rows,
                                     struct tc_invariant *invariant,
                                     const struct tc_row **counterexample);

#endif /* TC_INFER_DEDUCE_H */
