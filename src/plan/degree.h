/* SPDX-License-Identifier: Apache-2.0 */
/*
 * degree.h - how likely a wrong "verified" is: degrees of values, counted while a plan is evaluated
 *
 * Each value is a polynomial of random variables: elements of the tensors that the step starts
 * from, values of keyed functions, and inverses 1/v. Two that differ as such are equal at a random
 * point with a chance of at most their degree over the size of the field, once the inverses are
 * cleared (Schwartz 1980, Zippel 1979). docs/plans.md has the derivation.
 */
#ifndef TC_PLAN_DEGREE_H
#define TC_PLAN_DEGREE_H

#include "plan/world.h"

/* Inverses of values that hold inverses themselves are one level higher. */
#define TC_DEGREE_LEVELS 8

/* An upper bound for every element of a storage, as a polynomial of variables and inverses. */
struct tc_degree {
    double own;      /* of the variables */
    double inverses; /* of all inverses */
    unsigned level;  /* of the highest inverse; 0: it has none */
};

/* What is counted over an evaluation of one job. */
struct tc_ledger;

struct tc_ledger *tc_ledger_new(const struct tc_plan_set *set);
void tc_ledger_free(struct tc_ledger *ledger);

/* To be called as those of tc_world_watch are, from any thread. */
void tc_ledger_op(struct tc_ledger *ledger, const struct tc_run *run, uint32_t op);
void tc_ledger_met(struct tc_ledger *ledger, const struct tc_participant *all, uint32_t n);
void tc_ledger_sent(struct tc_ledger *ledger, const struct tc_run *from,
                    const struct tc_plan_op *op, struct tc_degree *with);
void tc_ledger_received(struct tc_ledger *ledger, const struct tc_run *to,
                        const struct tc_plan_op *op, const struct tc_degree *with);
void tc_ledger_done(struct tc_ledger *ledger, const struct tc_run *run);

/* Bits that one evaluation of both jobs gives: a wrong "equal" has a chance below 2^-bits. 0: no
 * bound. */
double tc_ledger_bits(const struct tc_ledger *single, const struct tc_ledger *parallel);
/* The first operator that chose by an order of values that depend on parameters, and how many did;
 * NULL if none. */
const struct tc_plan_op *tc_ledger_choice(const struct tc_ledger *ledger, uint64_t *n);

/* ---- the forms of operators ---------------------------------------------------------------- */

#define TC_DEGREE_NONE   (-1) /* nothing is inverted */
#define TC_DEGREE_HASHED (-2) /* what is inverted is a sum of values of functions */

/*
 * What the rule of an operator computes. A text has a digit for each argument of the rule: how
 * often a product has it as a factor. What is not named counts 0; 'n': once for each element.
 */
struct tc_degree_form {
    const char *names;     /* of rules, separated by blanks */
    const char *times;     /* of the result; NULL: it is a sum, as high as the highest argument */
    const char *more;      /* of results after the first; NULL: as the first */
    const char *arguments; /* of what functions are applied to */
    const char *square;    /* the result is a root: its square; NULL: it is none */
    unsigned functions;    /* values of functions, and numbers that are no ratios, in a product */
    unsigned inverses;     /* in a product */
    int inverted;          /* number of the argument that is inverted, NONE or HASHED */
    bool chooses;          /* by an order of values */
};

/* NULL: the operator moves elements between ranks, or touches none. */
const struct tc_degree_form *tc_degree_form_of(const struct tc_rule *rule);
/* Does an element of the result depend on the same element of each operand alone? */
bool tc_degree_is_elementwise(const struct tc_rule *rule);
/* The form for the exponent that the operator has. */
struct tc_degree_form tc_degree_form_of_op(const struct tc_degree_form *form,
                                           const struct tc_plan_op *op);

#endif /* TC_PLAN_DEGREE_H */
