/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standstill.h - when a run stood still, by its finished trace
 *
 * What a live check says while nothing comes, said afterwards: of each time in which no process of
 * the run told anything, which ranks waited in which call, and for whom.
 */
#ifndef TC_ONLINE_STANDSTILL_H
#define TC_ONLINE_STANDSTILL_H

#include "base/json.h"
#include <traincheck/trace.h>

#define TC_STANDSTILLS_MAX 16 /* that are reported; what follows is noted */

struct tc_standstill_config {
    const char *trace;
    uint64_t after_s; /* > 0: shorter ones are none */
    int64_t now_ns;   /* since 1970: a run without an end stands still until now */
    /* A finding of the kind "hang", which is freed after the call; in the order of time. */
    void (*found)(void *context, struct tc_json *finding);
    bool (*go_on)(void *context); /* asked now and then; false interrupts */
    void *context;
};

/*
 * Processes whose clock is unknown, as in traces of other tools, have no part in it. Clocks of
 * hosts that differ shorten what is seen. Reads the trace once, and where it stood still twice.
 */
enum tc_status tc_standstill_find(const struct tc_standstill_config *config, struct tc_notes *notes,
                                  struct tc_error *err);

#endif /* TC_ONLINE_STANDSTILL_H */
