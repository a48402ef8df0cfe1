/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surprise.h - how unlikely it is that a fact which healthy runs break now and then was only
 * broken in the run that is judged
 */
#ifndef TC_FACT_SURPRISE_H
#define TC_FACT_SURPRISE_H

#include "invariant/fact.h"

/* What the runs learned from say of a fact: in which windows it held, and how many runs they are.
 */
struct tc_fact_record {
    struct tc_fact_windows windows;
    uint64_t n_runs;
};

/* In bits. The fact broke in these windows of the judged run, ascending, n of them. More breaches
 * never make it less. A fact that a person wrote was in no run, and any breach of it is infinitely
 * unlikely. */
double tc_fact_surprise(const struct tc_fact_record *learned, const uint64_t *windows, size_t n);

#endif /* TC_FACT_SURPRISE_H */
