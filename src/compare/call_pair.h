/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_pair.h - what a call was given and gave in two runs, and what variables became
 */
#ifndef TC_COMPARE_CALL_PAIR_H
#define TC_COMPARE_CALL_PAIR_H

#include "compare/comparison.h"

/* Two calls that are each other's like, from their begin to their end. */
struct tc_call_pair {
    const struct tc_course_call *a, *b;
    bool is_equal; /* its operands are, and their content is known */
    bool is_draw;  /* its result is drawn at random */
};

/* Their operands. */
struct tc_call_pair tc_call_pair_begin(struct tc_pair_state *state, const struct tc_course_call *a,
                                       const struct tc_course_call *b);
/* Their results, after all that is called in them. */
void tc_call_pair_end(struct tc_pair_state *state, const struct tc_call_pair *pair);

/* The variables of the two windows: by name, or, where a script renames them, by their order. */
void tc_variables_compare(struct tc_pair_state *state);

#endif /* TC_COMPARE_CALL_PAIR_H */
