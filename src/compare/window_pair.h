/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_pair.h - two windows that are each other's like, call by call
 *
 * Calls are matched twice: first those of equal tokens on lines that the sources' diff maps onto
 * each other, then what is left between them by tokens alone. A line that was edited, or moved, is
 * no other call for that.
 */
#ifndef TC_COMPARE_WINDOW_PAIR_H
#define TC_COMPARE_WINDOW_PAIR_H

#include "compare/comparison.h"

void tc_window_pair_compare(struct tc_pair_state *state, const struct tc_course_window *a,
                            const struct tc_course_window *b);
void tc_pair_state_release(struct tc_pair_state *state);

#endif /* TC_COMPARE_WINDOW_PAIR_H */
