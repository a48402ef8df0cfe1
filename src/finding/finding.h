/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.h - what a check says: one finding for each cause, with its violations as evidence
 *
 * A run that breaks invariants is laid beside the healthy runs whose excerpts are in the invariant
 * file. Where it departs from them in what it calls, or in what it gives to a call, is what its
 * violations lie behind: it leads. It accuses by itself of nothing: without a violation there is no
 * finding. An edit of which nothing tells but the sources has no sentence of its own: the violation
 * that says most leads. A finding of an edit that broke no more than how often or in which order
 * something is called is a remark where another finding of the run says more. Violations that lie
 * behind no departure are findings by their groups (check/group.h). One that healthy runs break now
 * and then is a remark where it is alone.
 */
#ifndef TC_FINDING_FINDING_H
#define TC_FINDING_FINDING_H

#include "check/group.h"
#include "finding/departed_run.h"

struct tc_finding {
    const struct tc_violation **items; /* in reading order; of the findings' array */
    size_t n;
    const struct tc_difference *departure;  /* what it lies behind, or NULL */
    const struct tc_comparison *comparison; /* of the run that departs, or NULL */
    const struct tc_violation *head;        /* whose sentence leads; NULL: that of the departure */
    const struct tc_violation *told[2];     /* of the others those that say most, or NULL */
    bool is_remark;                         /* see above */
};

struct tc_findings {
    const struct tc_violation **all; /* finding by finding */
    size_t n_all;
    struct tc_finding *items; /* remarks come late, those of changed settings alone are last */
    size_t n, n_settings;
};

/*
 * violations: in reading order; borrowed, as the departures are. departures may be NULL: then
 * violations lead. Traces are read again as far as their violations reach; why one cannot be
 * compared is noted.
 */
void tc_findings_make(struct tc_findings *findings, struct tc_violation *const *violations,
                      size_t n, const struct tc_strtab *symbols, struct tc_departures *departures,
                      struct tc_notes *notes);
void tc_findings_release(struct tc_findings *findings);

#endif /* TC_FINDING_FINDING_H */
