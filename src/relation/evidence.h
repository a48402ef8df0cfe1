/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h - what was seen, as counts over classes of equal examples
 *
 * A row stands for all examples of one source that share key, situation and
 * outcome. Training repeats itself, so rows stop growing long before the trace
 * does. merge is associative and commutative: the rows of two traces together
 * are the merged rows of each.
 */
#ifndef TC_RELATION_EVIDENCE_H
#define TC_RELATION_EVIDENCE_H

#include "relation/relation.h"

struct tc_row {
    uint32_t source;                /* number of its source */
    tc_sym key;                     /* in symbols */
    tc_sym situation, outcome;      /* in arrays: of struct tc_pair, of tc_sym */
    uint64_t count;                 /* examples */
    struct tc_fact_windows windows; /* of a fact; else none */
    TC_VEC(uint32_t) pipelines;     /* in which it was met, ascending */
    tc_sym first;                   /* where it was met first: "train.py:57, step 3 of digits" */
};

struct tc_evidence {
    struct tc_strtab *symbols; /* owned, or borrowed from another evidence */
    struct tc_strtab *arrays;  /* situations and outcomes, interned as bytes */
    struct tc_strtab
        *tuples; /* (source, key, situation, outcome), interned: the number is that of the row */
    TC_VEC(struct tc_row) rows;
    TC_VEC(tc_sym) pipelines; /* names */
    bool has_own_symbols;
};

void tc_evidence_init(struct tc_evidence *evidence);
/* Empty, with the words of another, which must outlive it: what is said of one can be asked of the
 * other. */
void tc_evidence_init_beside(struct tc_evidence *evidence, const struct tc_evidence *other);
void tc_evidence_release(struct tc_evidence *evidence);

/* The number of the pipeline of that name, new or known. */
uint32_t tc_evidence_pipeline(struct tc_evidence *evidence, const char *name);

/* Count one example. Returns its row, valid until the next call; a new one has first == TC_NO_SYM.
 */
struct tc_row *tc_evidence_add(struct tc_evidence *evidence, uint32_t source,
                               const struct tc_example *example, uint32_t pipeline);

/* Count a row made elsewhere, whose words are those of this evidence; the smaller `first` is kept.
 */
void tc_evidence_add_row(struct tc_evidence *evidence, const struct tc_row *row);
void tc_row_add_pipeline(struct tc_row *row, uint32_t pipeline);

void tc_evidence_merge(struct tc_evidence *into, const struct tc_evidence *from);

const struct tc_pair *tc_row_situation(const struct tc_evidence *evidence, const struct tc_row *row,
                                       size_t *n);
const tc_sym *tc_row_outcome(const struct tc_evidence *evidence, const struct tc_row *row,
                             size_t *n);

#endif /* TC_RELATION_EVIDENCE_H */
