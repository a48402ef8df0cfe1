/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - findings and violations for Weights & Biases, MLflow, TensorBoard and OpenTelemetry, by
 * a helper in Python
 *
 * The helper is lib/traincheck/track.py. It never holds up a check, and whatever becomes of it is
 * said and has no part in the exit status.
 */
#ifndef TC_TOOLS_TRACK_H
#define TC_TOOLS_TRACK_H

#include <sys/types.h>

#include "base/strbuf.h"
#include "check.h"

struct track {
    struct tc_app *app;
    pid_t pid;              /* 0: there is none */
    int fd;                 /* to its stdin; -1: closed */
    struct tc_strbuf queue; /* what it has not taken yet */
};

/* Are these names of trackers? */
enum tc_status track_validate(const struct check_options *options, struct tc_error *err);
/* Start the helper, if there is one to start. */
void track_begin(struct track *track, struct tc_app *app, const struct check_options *options);
/* A finding, a violation, or {"standing":{"step":..,"lag_s":..}}, as a line of JSON; never waits.
 */
void track_tell(struct track *track, const char *json, size_t size);
/* The reports are written, or not; wait for the helper, at most two minutes. */
void track_end(struct track *track, bool has_reports);

#endif /* TC_TOOLS_TRACK_H */
