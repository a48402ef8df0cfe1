/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - what a call is beside earlier ones of its process
 *
 * An operand that was handed over before, in evaluation rows that were trained on, and numbers of
 * another size than in training. Bounded: what was met longest ago may be forgotten, which makes a
 * repetition go unnoticed and nothing else.
 */
#ifndef TC_FACT_HISTORY_H
#define TC_FACT_HISTORY_H

#include "base/map.h"
#include "fact/operand_pack.h"
#include "replay/event.h"

/* A trace tells the rows of a batch where it is loaded, and hands it on by its digest. */
#define TC_FACT_BATCHES 16

struct tc_fact_batch {
    uint64_t digest;
    struct tc_strbuf rows;
};

struct tc_fact_history {
    struct tc_map operands; /* call and serials of its tensors → 1 */
    struct tc_map sizes;    /* call and place of an operand → the sizes in training, two floats */
    struct tc_fact_batch batches_of_rows[TC_FACT_BATCHES];
    size_t next_batch;
    struct tc_map trained; /* digest of a row that the model was given in training → 1 */
    struct tc_map earlier; /* digest of an operand → the step in which it was met first */
};

void tc_fact_history_release(struct tc_fact_history *history);

enum tc_fact_again {
    TC_FACT_NEVER_ASKED, /* nothing that could have been handed over before */
    TC_FACT_NEW,
    TC_FACT_AGAIN,
};

/* Were these tensors handed to such a call before? */
enum tc_fact_again tc_fact_meet_operands(struct tc_fact_history *history, uint64_t call,
                                         const struct tc_fact_pack *pack);
/* How a number of evaluation is beside those of training in the same place, in words; NULL in
 * training, and where there was none. */
const char *tc_fact_meet_size(struct tc_fact_history *history, uint64_t place, double size,
                              bool is_training);

/* The rows of a batch that was met with them, by its digest; no text if it was not. */
void tc_fact_keep_rows(struct tc_fact_history *history, uint64_t digest, struct tc_str rows);
struct tc_str tc_fact_rows_of(const struct tc_fact_history *history, uint64_t digest);
/* In evaluation, how many of the rows were trained on, as JSON; NULL if it cannot be reported: none
 * that was as long, as what is filled up to another length is of other rows. n_elements: of all
 * rows. */
const char *tc_fact_meet_trained(struct tc_fact_history *history, struct tc_str rows,
                                 size_t n_elements, uint64_t place, bool is_training);
/* Was the operand met in a step before this one? As JSON; NULL if it cannot be reported. */
const char *tc_fact_meet_earlier(struct tc_fact_history *history, uint64_t operand, uint64_t step);

#endif /* TC_FACT_HISTORY_H */
