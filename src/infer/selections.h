/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selections.h - what traces were asked for that were not asked for everything
 *
 * A call that was not traced looks like one that was not made. So such a trace is no example of
 * what a run leaves out, and validates only what it was asked for.
 */
#ifndef TC_INFER_SELECTIONS_H
#define TC_INFER_SELECTIONS_H

#include "base/vec.h"
#include "relation/evidence.h"
#include "relation/interest.h"
#include "trace/folder.h"

struct tc_selection {
    char *pipeline; /* its name in the evidence */
    struct tc_interest traced;
};

struct tc_selections {
    TC_VEC(struct tc_selection) items;
};

/* Was the folder asked for less than everything? */
bool tc_folder_is_selective(const struct tc_trace_folder *folder);
/* Add what the folder was asked for, if that is not everything. */
void tc_selections_add(struct tc_selections *selections, const struct tc_trace_folder *folder,
                       const char *pipeline);
/* Move all of from to the end of into. */
void tc_selections_move(struct tc_selections *into, struct tc_selections *from);
void tc_selections_release(struct tc_selections *selections);

/* Can the pipeline of that name tell whether the invariant holds? */
bool tc_selections_tell(const struct tc_selections *selections, const char *pipeline,
                        const struct tc_strtab *symbols, const struct tc_invariant *invariant);

#endif /* TC_INFER_SELECTIONS_H */
