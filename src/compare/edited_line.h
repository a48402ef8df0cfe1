/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edited_line.h - the edited line that a difference comes from
 *
 * An argument differs where it is used; what was edited is the line that has the value: a default,
 * a dictionary of settings, a constant. So the value that is, and the one that was, are searched
 * for among the lines of the sources' diff: a line that is new has the one, a line of the same hunk
 * that is gone has the other. Lines that also name the argument come first.
 */
#ifndef TC_COMPARE_EDITED_LINE_H
#define TC_COMPARE_EDITED_LINE_H

#include "compare/comparison.h"

/* Fill difference->edited. */
void tc_edited_lines_find(const struct tc_comparison *comparison, struct tc_difference *difference);

#endif /* TC_COMPARE_EDITED_LINE_H */
