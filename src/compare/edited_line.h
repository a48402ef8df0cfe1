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

/* Was its place edited, or is an edited line known that it comes from? */
static inline bool tc_is_edited(const struct tc_edited_lines *edited)
{
    return edited->is_place || edited->script_a || edited->script_b;
}

/* The edited line to show, from 0: of the run, else of the reference. NULL: none is known. */
static inline const struct tc_script *tc_edited_line(const struct tc_edited_lines *edited,
                                                     size_t *line)
{
    *line = edited->script_b ? edited->line_b : edited->line_a;
    return edited->script_b ? edited->script_b : edited->script_a;
}

/* Fill difference->edited. */
void tc_edited_lines_find(const struct tc_comparison *comparison, struct tc_difference *difference);

#endif /* TC_COMPARE_EDITED_LINE_H */
