/* SPDX-License-Identifier: Apache-2.0 */
/*
 * online.h - judging a trace while it is written
 */
#ifndef TRAINCHECK_ONLINE_H
#define TRAINCHECK_ONLINE_H

#include <traincheck/check.h>

struct tc_online_config {
    struct tc_check_config check;  /* of one trace, whose folder need not be there yet */
    unsigned lateness_s;           /* how long a step waits for a rank that is silent */
    unsigned idle_s;               /* end after so long without anything new; 0: never for that */
    unsigned report_interval_s;    /* between reports of what is known so far; 0: only at the end */
    const char *on_violation;      /* shell command that gets each cause as JSON; or NULL */
    unsigned on_violation_limit_s; /* a command is ended after so long; 0: never */
    const char *state;             /* file that remembers what was reported; or NULL */
    /* A line for people: what began, what failed, how it ended. */
    void (*say)(void *context, const char *line);
    /* Each finding and each violation as a line of JSON, when it is reported; NULL for none. */
    void (*found)(void *found_context, const char *json, size_t size);
    void *found_context;
};

/*
 * Follow the folder until every process of the run has written that it ended, until nothing new
 * came for idle_s, until the folder is gone, or until check.progress returns false
 * (TC_E_INTERRUPTED). A finding goes to check.write once, when its first violation is seen; as
 * JSON each violation does, too, and at the end all findings as they are then. The reports are
 * those of tc_check_run over the same folder. TC_E_NOTFOUND if there never was a trace.
 */
TC_API enum tc_status tc_online_run(const struct tc_online_config *config,
                                    struct tc_check_result *result, struct tc_notes *notes,
                                    struct tc_error *err);

#endif /* TRAINCHECK_ONLINE_H */
