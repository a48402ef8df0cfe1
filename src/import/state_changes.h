/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_changes.h - state changes of the Python tool as var records
 */
#ifndef TC_IMPORT_STATE_CHANGES_H
#define TC_IMPORT_STATE_CHANGES_H

#include "base/arena.h"
#include "base/map.h"
#include "import/lines_by_time.h"

struct tc_import_variables {
    struct tc_map serials; /* hash of name and type → serial */
    struct tc_map values;  /* hash of serial and attribute → hash of its last value */
};

void tc_import_variables_release(struct tc_import_variables *variables);
/* Fill var, name, kind, root and those attrs that are new; values live in arena and in the line. */
void tc_import_variables_fill(struct tc_import_variables *variables,
                              const struct tc_python_line *line, struct tc_arena *arena,
                              struct tc_record *record);

#endif /* TC_IMPORT_STATE_CHANGES_H */
