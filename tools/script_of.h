/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_of.h - which script a trace is of, and which scripts invariant files were learned of
 *
 * Scripts are named without their folders.
 */
#ifndef TC_TOOLS_SCRIPT_OF_H
#define TC_TOOLS_SCRIPT_OF_H

#include <stdbool.h>
#include <stddef.h>

/* "" if it is not reported; the caller frees it. *has_begun, unless NULL: whether a process of it
 * has told of itself. */
char *script_of_trace(const char *trace, bool *has_begun);

/* Of several invariant files the scripts, as their excerpts tell. */
struct script_sets {
    char **scripts; /* of each; NULL: it has no excerpts, and is for all scripts */
    size_t n;
};

void script_sets_init(struct script_sets *sets, const char *const *files, size_t n);
void script_sets_release(struct script_sets *sets);
bool script_sets_knows(const struct script_sets *sets, size_t i, const char *script);

#endif /* TC_TOOLS_SCRIPT_OF_H */
