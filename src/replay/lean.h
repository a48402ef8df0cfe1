/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lean.h - a trace as it would be if some APIs had not been recorded
 *
 * A lean set of invariants is learned from full traces without the APIs that it leaves out, so that
 * it holds in runs that are traced without them.
 */
#ifndef TC_REPLAY_LEAN_H
#define TC_REPLAY_LEAN_H

#include "base/map.h"
#include "base/strtab.h"
#include "replay/span.h"
#include <traincheck/record.h>

/* Of one process; all zero to begin with. */
struct tc_lean {
    const struct tc_strtab *left_out; /* names of APIs, borrowed; NULL: none */
    struct tc_map around, lines;      /* of open calls that are left out, by id: the call around
                                         it, and the line of the user's */
};

void tc_lean_release(struct tc_lean *lean);

/* The record as it would be: the same, or *changed, or NULL if there were none. spans: what is open
 * of the calls that stay. */
const struct tc_record *tc_lean_take(struct tc_lean *lean, const struct tc_spans *spans,
                                     const struct tc_record *record, struct tc_record *changed);

/* Add what the trace does without by its own process record. */
void tc_lean_add_told(const struct tc_value *process, struct tc_strtab *left_out);

#endif /* TC_REPLAY_LEAN_H */
