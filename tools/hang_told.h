/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_told.h - findings of the kind "hang": on stdout, to trackers, in the exit status
 */
#ifndef TC_TOOLS_HANG_TOLD_H
#define TC_TOOLS_HANG_TOLD_H

#include "base/json.h"
#include "track.h"

/* On stdout, as text or with --json as a line, and to the trackers. */
void hang_tell(struct tc_app *app, const struct check_options *options, struct track *track,
               const struct tc_json *finding);
/* One was reported: the exit status is that of a check that found something. */
void hang_end(struct tc_app *app, const struct check_options *options);
/*
 * Of finished traces: tell each time in which one stood still for --hang-after. Findings of the
 * check are before them. *n_told: how many there were.
 */
enum tc_status hang_look(struct tc_app *app, const struct check_options *options,
                         struct track *track, uint64_t n_findings, size_t *n_told,
                         struct tc_notes *notes, struct tc_error *err);

#endif /* TC_TOOLS_HANG_TOLD_H */
