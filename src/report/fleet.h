/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet.h - many runs, each judged by itself: a line of JSON for each, and a page of all
 *
 * A run is the object that is a line of runs.jsonl (docs/violation-format.md). What is reported on
 * a terminal and in the page is made of that object alone, so that lines of an earlier check serve
 * as those of this one do.
 */
#ifndef TC_REPORT_FLEET_H
#define TC_REPORT_FLEET_H

#include "base/json.h"
#include <traincheck/check.h>

/* What became of a run, in the order in which they are reported and counted. */
#define TC_FLEET_VERDICT_MAP(X)                       \
    X(TC_FLEET_FAILED, "failed")                      \
    X(TC_FLEET_UNREAD, "unread") /* error says why */ \
    X(TC_FLEET_UNJUDGED, "unjudged")                  \
    X(TC_FLEET_PASSED, "passed")

enum tc_fleet_verdict {
#define X(verdict, name) verdict,
    TC_FLEET_VERDICT_MAP(X)
#undef X
    TC_FLEET_N_VERDICTS
};

/*
 * The object of a run that was read: result is of its check alone, status that check's exit status,
 * first the object of its first finding or NULL, reports the folder of its reports as seen from
 * that of runs.jsonl. The caller owns it.
 */
struct tc_json *tc_fleet_run(const char *trace, const char *script, int status,
                             const struct tc_check_result *result, const struct tc_json *first,
                             const char *reports);
/* That of a run that could not be read. */
struct tc_json *tc_fleet_unread(const char *trace, int status, const char *error);

enum tc_fleet_verdict tc_fleet_verdict(const struct tc_json *run);
const char *tc_fleet_verdict_name(enum tc_fleet_verdict verdict);

/* A finding of a run that goes on, as one line for a terminal. */
void tc_fleet_finding(const char *trace, const struct tc_json *finding, struct tc_strbuf *out);
/* One line for a terminal. */
void tc_fleet_text(const struct tc_json *run, struct tc_strbuf *out);
/* A page of all that are not NULL: sorted and searched without a network. */
void tc_fleet_page(struct tc_json *const *runs, size_t n, struct tc_strbuf *out);

#endif /* TC_REPORT_FLEET_H */
