/* SPDX-License-Identifier: Apache-2.0 */
/*
 * degree.h - degrees of values as polynomials, and what the rules of operators make of them
 */
#ifndef TC_PLAN_DEGREE_H
#define TC_PLAN_DEGREE_H

#include "plan/program.h"

/* Inverses of values that hold inverses themselves are one level higher. */
#define TC_DEGREE_LEVELS 8

/* An upper bound for every element of a storage, as a polynomial of variables and inverses. */
struct tc_degree {
    double own;      /* of the variables */
    double inverses; /* of all inverses */
    unsigned level;  /* of the highest inverse; 0: it has none */
};

/* Of values, and of what they are logs of. */
struct tc_degrees {
    struct tc_degree value, carried;
};

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
/* Of an operator without a rule. */
const struct tc_degree_form *tc_degree_form_of_unknown(void);
/* Does an element of the result depend on the same element of each operand alone? */
bool tc_degree_is_elementwise(const struct tc_rule *rule);
/* The form for the exponent that the operator has. */
struct tc_degree_form tc_degree_form_of_op(const struct tc_degree_form *form,
                                           const struct tc_plan_op *op);

#endif /* TC_PLAN_DEGREE_H */
