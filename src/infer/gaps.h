/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gaps.h - what could not be learned from a trace, and why
 */
#ifndef TC_INFER_GAPS_H
#define TC_INFER_GAPS_H

#include "replay/replay.h"

/* Has a main process written its first record? */
bool tc_folder_has_begun(const struct tc_trace_folder *folder);

/* The version of torch that the first main process of the folder names, or "". Lives as long as
 * the folder. */
struct tc_str tc_folder_torch(const struct tc_trace_folder *folder);

/* The script that its first main process ran, as the command named it, or "". */
struct tc_str tc_folder_script(const struct tc_trace_folder *folder);

/* Can it hold what lines of the script compute? A selective trace holds what was asked for. */
bool tc_folder_has_operators(const struct tc_trace_folder *folder);

/* Note under the name of the trace what it lacks for some relations. Such a trace is no error: what
 * it shows is learned. */
void tc_gaps_note(const struct tc_trace_folder *folder, const struct tc_replay_counts *counts,
                  const char *name, struct tc_notes *notes);

#endif /* TC_INFER_GAPS_H */
