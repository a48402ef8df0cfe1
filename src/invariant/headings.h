/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headings.h - facts with one subject stand in a file below a line that says the subject once
 *
 * docs/invariant-format.md has the form. All that works with invariants sees each of them whole.
 */
#ifndef TC_INVARIANT_HEADINGS_H
#define TC_INVARIANT_HEADINGS_H

#include <stdbool.h>

#include "base/json.h"
#include "base/vec.h"

/* ---- reading --------------------------------------------------------------------------------- */

bool tc_is_heading(const struct tc_json *line);
bool tc_is_below_heading(const struct tc_json *line);
/* The invariant that such a line and the heading above it are together; the caller owns it. */
struct tc_json *tc_heading_join(const struct tc_json *heading, const struct tc_json *line);

/* ---- writing --------------------------------------------------------------------------------- */

/* Zeroed before the first line. */
struct tc_heading_writer {
    struct tc_strbuf *out;
    TC_VEC(struct tc_json *) group; /* facts of one subject, which are not written yet */
};

/* Append the invariant's line, in the order of the calls; takes it. */
void tc_heading_writer_add(struct tc_heading_writer *writer, struct tc_json *take);
/* Call it once behind the last line. */
void tc_heading_writer_end(struct tc_heading_writer *writer);

#endif /* TC_INVARIANT_HEADINGS_H */
