/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.h - lines of the Python tool, of one process and in order of time, as our records
 *
 * Calls of APIs that traincheck-collect traces, and of the user's own functions, become calls;
 * what torch does inside becomes nothing: such a line gives a record of type UNKNOWN, whose
 * `foreign` still is what the rules of the Python tool judge.
 */
#ifndef TC_IMPORT_CONVERT_H
#define TC_IMPORT_CONVERT_H

#include "import/lines_by_time.h"
#include "import/torch_apis.h"

struct tc_conversion;

/* apis and notes are borrowed; has_stages: does any record of the process have a stage? */
struct tc_conversion *tc_conversion_new(const struct tc_torch_apis *apis, struct tc_notes *notes,
                                        bool has_stages);
void tc_conversion_free(struct tc_conversion *conversion);

/* Take a line; file names its place in notes. Records of the line before are forgotten. */
void tc_conversion_add(struct tc_conversion *conversion, const struct tc_python_line *line,
                       const char *file);
/* The next record of that line, NULL when there is none. */
const struct tc_record *tc_conversion_next(struct tc_conversion *conversion);

#endif /* TC_IMPORT_CONVERT_H */
