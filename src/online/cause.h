/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cause.h - the command of --on-violation: once for each finding
 *
 * Findings are made anew at each look, and may have grown or joined another since. One is new as
 * long as no violation of it was heard of before.
 */
#ifndef TC_ONLINE_CAUSE_H
#define TC_ONLINE_CAUSE_H

#include "base/strtab.h"
#include "online/command.h"
#include "online/state.h"
#include "report/run.h"

struct tc_causes {
    const struct tc_check *check;
    struct tc_state *state; /* NULL: nothing is remembered */
    struct tc_commands *commands;
    struct tc_strtab *heard;  /* ids of violations whose cause was reported */
    struct tc_strtab *queued; /* ids of causes, in the order told here */
};

/* All are borrowed. */
void tc_causes_init(struct tc_causes *causes, const struct tc_check *check, struct tc_state *state,
                    struct tc_commands *commands);
void tc_causes_release(struct tc_causes *causes);

/* Run the command for each finding that is new, or whose command an earlier checker could not run.
 * findings: of all that the engine knows. TC_E_IO if the state cannot be written. */
enum tc_status tc_causes_tell(struct tc_causes *causes, const struct tc_findings *findings,
                              struct tc_error *err);

#endif /* TC_ONLINE_CAUSE_H */
