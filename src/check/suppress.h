/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppress.h - invariants whose violations are known and accepted, each with a reason
 *
 * A text file: on each line an id, blanks, the reason. Empty lines and lines that begin with # say
 * nothing.
 */
#ifndef TC_CHECK_SUPPRESS_H
#define TC_CHECK_SUPPRESS_H

#include "base/arena.h"
#include "base/vec.h"
#include "check/engine.h"

struct tc_suppression {
    const char *id, *reason;
};

struct tc_suppressions {
    struct tc_arena arena;
    TC_VEC(struct tc_suppression) items;
};

/* Adds the lines of a file. TC_E_FORMAT names the line that has no reason. */
enum tc_status tc_suppressions_read(struct tc_suppressions *suppressions, const char *path,
                                    struct tc_error *err);
void tc_suppressions_release(struct tc_suppressions *suppressions);

/* The reason for which violations of this invariant do not count; NULL if they do. */
const char *tc_suppressions_reason(const struct tc_suppressions *suppressions, const char *id);

/* Notes ids that no invariant has: they may be misspelt, or the invariant is gone. */
void tc_suppressions_note_unused(const struct tc_suppressions *suppressions, const char *path,
                                 const struct tc_engine *engine, struct tc_notes *notes);

#endif /* TC_CHECK_SUPPRESS_H */
