/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_match.h - the calls of two windows that are each other's like
 */
#ifndef TC_COMPARE_CALL_MATCH_H
#define TC_COMPARE_CALL_MATCH_H

#include "compare/outline.h"

/* The calls of a window that are compared, in order. */
struct tc_compared_calls {
    const struct tc_course_window *window;
    uint32_t *calls; /* index in the window */
    uint32_t *tokens;
    size_t n;
    bool *is_alone; /* of each call of the window: it has no like */
    bool *is_told;  /* of each that has none: it stands for itself, and not for what is around it */
};

/* match[i]: which of b call i of a is, or TC_UNMATCHED. Release all three. */
struct tc_call_match {
    struct tc_compared_calls a, b;
    size_t *match;
};

void tc_call_match_make(struct tc_call_match *match, struct tc_outline *run_a,
                        struct tc_outline *run_b, const struct tc_course_window *a,
                        const struct tc_course_window *b);
void tc_call_match_release(struct tc_call_match *match);

#endif /* TC_COMPARE_CALL_MATCH_H */
