/* SPDX-License-Identifier: Apache-2.0 */
/*
 * online.h - a live check that somebody watches
 */
#ifndef TC_ONLINE_ONLINE_H
#define TC_ONLINE_ONLINE_H

#include <stdbool.h>

#include "base/json.h"
#include <traincheck/online.h>

/* How a live check stands. */
struct tc_online_standing {
    int64_t step;        /* the highest read, of the processes that were not replaced */
    double steps_per_s;  /* read, over the last seconds */
    uint64_t n_findings; /* at the last look */
    double lag_s;        /* from the newest record read to the newest that is known to be there */
};

struct tc_online_watch {
    /* Is the standing wanted now? Asked some times a second, once there is a trace. */
    bool (*is_due)(void *context);
    void (*show)(void *context, const struct tc_online_standing *standing);
    /* A command of ours may print from now on: nothing is shown until it has ended. */
    void (*hide)(void *context);
    unsigned hang_after_s; /* 0: nobody asks */
    /* Nothing came for so long of a run that has not ended: a finding of the kind "hang" (hang.h).
     * Told once, and again when the run went on meanwhile. */
    void (*hung)(void *context, const struct tc_json *finding);
    bool delete_checked; /* from the trace, but what surrounds a finding (deleting.h) */
    void *context;
};

/* As tc_online_run. */
enum tc_status tc_online_run_watched(const struct tc_online_config *config,
                                     const struct tc_online_watch *watch,
                                     struct tc_check_result *result, struct tc_notes *notes,
                                     struct tc_error *err);

#endif /* TC_ONLINE_ONLINE_H */
