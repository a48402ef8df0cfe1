/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_onlinecheck.c - traincheck-onlinecheck: the options as a configuration, violations to
 * trackers
 */
#include "track.h"

#include <traincheck/online.h>

#include "online/loop.h"

static void found(void *context, const char *json, size_t size)
{
    track_tell(context, json, size);
}

static void say(void *context, const char *line)
{
    tc_app_say(context, "%s", line);
}

enum tc_status onlinecheck_run(struct tc_app *app, void *options_, struct tc_error *err)
{
    struct check_options *options = options_;
    struct tc_check_result result = {0};
    tc_loop_use_own_memory();
    enum tc_status status = check_begin(app, options, err);
    if (status != TC_OK)
        return status;

    struct tc_notes *notes = tc_notes_new();
    struct tc_online_config config = {
        .check = check_config(app, options),
        .lateness_s = options->lateness_s,
        .idle_s = options->idle_s,
        .report_interval_s = options->report_interval_s,
        .on_violation = options->on_violation,
        .on_violation_limit_s = options->on_violation_limit_s,
        .state = options->state,
        .say = say,
        .found = found,
    };
    struct track track;
    config.found_context = &track;
    track_begin(&track, app, options);
    status = tc_online_run(&config, &result, notes, err);
    track_end(&track, status == TC_OK || (status == TC_E_INTERRUPTED && result.n_records));
    check_end(app, options, status, &result, notes);
    tc_notes_free(notes);
    return status;
}
