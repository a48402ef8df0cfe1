/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claims.h - forms whose claims are rows
 *
 * A row says what is claimed, in which examples, what they say when it holds and when it is broken,
 * and all of it in words. Proposing, keys, verdicts and sentences follow from the row. To add a
 * claim whose examples are made already: add a row.
 *
 * Words of keys, params and atoms are symbols, or blanks that an invariant fills: TC_BLANK_CALL is
 * the call, TC_BLANK_KIND the kind of variable, TC_BLANK_OTHER another call, each of which the
 * outcomes tell as the last word of `held`, where atoms of more words are marks. They end where a
 * word is TC_SYM_EMPTY, as what a row leaves out is.
 */
#ifndef TC_RELATION_CLAIMS_H
#define TC_RELATION_CLAIMS_H

#include "relation/relation.h"

#define TC_BLANK_CALL  (TC_NO_SYM - 1)
#define TC_BLANK_KIND  (TC_NO_SYM - 2)
#define TC_BLANK_OTHER (TC_NO_SYM - 3)

#define TC_CLAIM_WORDS 3

struct tc_claim {
    tc_sym key[TC_CLAIM_WORDS]; /* of its examples */

    /* The params: calls by role, whichever API has it; calls by name; and a variable, a change of
     * one, or an operand. */
    enum tc_role roles[TC_CLAIM_WORDS];
    size_t n_roles;
    tc_sym calls[TC_CLAIM_WORDS];
    enum tc_param_kind of; /* TC_PARAM_VARIABLE, _CHANGE or _OPERAND */
    tc_sym kind;           /* of variables; which operand */
    tc_sym attr, to;

    /* Atoms in the outcome. Without `broken` it is broken wherever it does not hold, else undecided
     * where neither was seen. */
    tc_sym held[TC_CLAIM_WORDS], broken[TC_CLAIM_WORDS];

    /* Why what does not hold is not broken, of the other call; NULL: it always is. */
    enum tc_excuse (*excuse)(struct tc_strtab *symbols, tc_sym other, const tc_sym *outcome,
                             size_t n_outcome);

    enum tc_support support;
    unsigned min_examples; /* see struct tc_hypothesis */
    bool if_met;           /* proposed only where it held once */

    /* %c the call, %o the other one, %l which came in its place, %k the kind, %a the attribute, %v
     * the variable, %d the detail, a symbol, %m the call of the window, %r the class of the
     * receiver, %w what wrote to the variable, %p the call of the place and the function around it,
     * %b the same of the detail, a place. seen NULL: the form's own explain says it. */
    const char *expected, *seen;
};

#define TC_N_CLAIMS(claims) (sizeof(claims) / sizeof(*(claims)))
/* A number that is a macro, in a sentence. */
#define TC_TEXT(number)  TC_TEXT_(number)
#define TC_TEXT_(number) #number

void tc_claims_propose(const struct tc_relation *relation, struct tc_strtab *symbols, tc_sym key,
                       const struct tc_outcomes *outcomes, struct tc_hypotheses *out);
/* The row of these params; one that speaks of another kind of variable, if none has that, as a file
 * may say it of any. NULL if there is none. */
const struct tc_claim *tc_claim_of(const struct tc_relation *relation,
                                   const struct tc_strtab *symbols, const struct tc_param *params,
                                   size_t n_params);
tc_sym tc_claims_key(const struct tc_relation *relation, struct tc_strtab *symbols,
                     const struct tc_param *params, size_t n_params);
enum tc_outcome tc_claims_holds(const struct tc_relation *relation, struct tc_strtab *symbols,
                                const struct tc_param *params, size_t n_params,
                                const tc_sym *outcome, size_t n_outcome);
void tc_claims_describe(const struct tc_relation *relation, const struct tc_strtab *symbols,
                        const struct tc_param *params, size_t n_params, struct tc_strbuf *out);
void tc_claims_explain(const struct tc_relation *relation, struct tc_strtab *symbols,
                       const struct tc_invariant *invariant, const struct tc_event *event,
                       const struct tc_example *example, struct tc_strbuf *out);

#endif /* TC_RELATION_CLAIMS_H */
