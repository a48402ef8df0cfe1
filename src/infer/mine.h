/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mine.h - from evidence to a set of invariants
 */
#ifndef TC_INFER_MINE_H
#define TC_INFER_MINE_H

#include "infer/failed.h"
#include "infer/selections.h"
#include <traincheck/trace.h>

struct tc_mine_options {
    struct tc_deduce_options deduce;
    bool keep_implied;
    bool is_one_script;  /* all pipelines are runs of one script */
    const bool *enabled; /* by place in tc_relations */
    /* What further healthy traces showed, in words of the evidence; NULL if there are none. What
     * breaks on it is dropped. */
    const struct tc_evidence *held_out;
    const struct tc_selections *held_selections; /* of the held-out traces */
    struct tc_strbuf *profile;                   /* gets the signatures of the facts; or NULL */
    struct tc_notes *notes;                      /* get one for each invariant dropped so */
};

struct tc_mined {
    uint64_t dropped[TC_DEDUCE_COUNT]; /* hypotheses by reason */
    uint64_t n_facts;                  /* of one script, before what is implied was left out */
    uint64_t n_implied;                /* accepted, but said by others */
    uint64_t n_confirmed;              /* written, and held on what was held out */
    uint64_t n_untold;                 /* written, and no held-out trace was asked for it */
};

/*
 * Test every hypothesis that the evidence suggests; add what holds to set, whose symbols are those
 * of the evidence, in the order of the file and with texts. failures, if not NULL, gets the
 * hypotheses that were dropped.
 */
void tc_mine(const struct tc_evidence *evidence, const struct tc_mine_options *options,
             struct tc_invariant_set *set, struct tc_failures *failures, struct tc_mined *mined);

#endif /* TC_INFER_MINE_H */
