/* SPDX-License-Identifier: Apache-2.0 */
/*
 * departed_run.h - where the runs of a check depart from the healthy ones
 *
 * A departure is what differs at one edited place of the script: differences of one hunk of its
 * sources, or of hunks whose edits have a word in common, are one. What differs where nothing was
 * edited belongs to the first departure that was; where nothing was edited at all, it is one
 * departure from the first difference on.
 */
#ifndef TC_FINDING_DEPARTED_RUN_H
#define TC_FINDING_DEPARTED_RUN_H

#include "compare/two_runs.h"

struct tc_departure {
    TC_VEC(const struct tc_difference *) differences; /* in order; the first leads */
};

/* One run beside the healthy ones. */
struct tc_departed_run {
    const char *trace;
    struct tc_compare_config config; /* what the comparison borrows */
    struct tc_comparison comparison;
    TC_VEC(struct tc_departure) departures; /* by their first differences */
    bool is_made, is_comparable;
    uint64_t n_steps; /* that were asked for */
    bool is_whole;    /* and that were there */
};

struct tc_departures;

struct tc_departures *tc_departures_new(const char *const *traces, size_t n_traces,
                                        const char *const *invariants, size_t n_invariants);
void tc_departures_free(struct tc_departures *departures);

/* Those of the run of that name, as far as so many steps; NULL where there is no excerpt, or it
 * cannot be compared. */
const struct tc_departed_run *tc_departures_of(struct tc_departures *departures, const char *trace,
                                               uint64_t n_steps, struct tc_notes *notes);

#endif /* TC_FINDING_DEPARTED_RUN_H */
