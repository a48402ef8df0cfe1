/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draws.h - what chance decided in a run: had two runs the same seed?
 *
 * Seeds that were set, numbers that were drawn, batches that were loaded, and the first content of
 * variables are one digest. Two runs in which all of it is the same cannot tell law from chance.
 */
#ifndef TC_INFER_DRAWS_H
#define TC_INFER_DRAWS_H

#include "replay/event.h"

#define TC_DRAWS_SEEDS 8

/* A summary that outlives the trace. */
struct tc_draws {
    uint64_t digest;  /* of all of it, process by process; workers of a DataLoader apart */
    uint64_t n_drawn; /* seeds set and numbers drawn: without any there is no seed to speak of */
    int64_t seeds[TC_DRAWS_SEEDS]; /* the first ones that the first rank set */
    size_t n_seeds;
    struct tc_map processes; /* process → its digest so far */
};

void tc_draws_meet(struct tc_draws *draws, const struct tc_event *event);
/* The run is over: draws->digest is what it is. */
void tc_draws_finish(struct tc_draws *draws);

bool tc_draws_are_equal(const struct tc_draws *a, const struct tc_draws *b);
/* The first seeds in which two runs differ; false if none is known. */
bool tc_draws_seeds(const struct tc_draws *a, const struct tc_draws *b, int64_t seeds[2]);

#endif /* TC_INFER_DRAWS_H */
