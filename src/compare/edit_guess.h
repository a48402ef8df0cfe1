/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_guess.h - the edit that what differs first may come from
 *
 * Of an edit of plain Python no call tells: what differs first is then where its value is used. It
 * may come from the only edit, else from the one that has most words in common with the call, the
 * argument and the line. Not where the environment, the command line, a seed or the number of ranks
 * differ as well, or one run resumes the other.
 */
#ifndef TC_COMPARE_EDIT_GUESS_H
#define TC_COMPARE_EDIT_GUESS_H

#include "compare/comparison.h"

/* Fill `edited` of the difference that is first in tc_comparison_order(), if it has no edited line.
 */
void tc_edit_guess(struct tc_comparison *comparison);

#endif /* TC_COMPARE_EDIT_GUESS_H */
