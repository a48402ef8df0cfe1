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

struct tc_origin {
    const struct tc_script *script_a, *script_b; /* NULL: no line of that run */
    size_t line_a, line_b;                       /* from 0 */
};

/* False if the place of the difference was edited itself, or no edited line has the values. */
bool tc_origin_find(const struct tc_comparison *comparison, const struct tc_difference *difference,
                    struct tc_origin *out);

/* Was the place of the difference edited, or is there such a line? */
bool tc_is_edited(const struct tc_comparison *comparison, const struct tc_difference *difference);

#endif /* TC_COMPARE_EDITED_LINE_H */
