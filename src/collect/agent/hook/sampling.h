/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling.h - which steps are traced: all, one in so many, or as many as a budget pays
 *
 * With the interpreter's lock, unless said otherwise.
 */
#ifndef TC_COLLECT_SAMPLING_H
#define TC_COLLECT_SAMPLING_H

#include "collect/agent/agent.h"

/*
 * The first warm_up steps are traced. From there on one of every interval; 0 or 1: all. Or, where
 * budget is not 0, as many as add so many millionths to the time of the job; then warm_up is 3 or
 * more.
 */
void tc_sampling_set(unsigned interval, unsigned warm_up, unsigned budget);

/* Is it one that is traced? The open step, the one before it or the next. */
bool tc_sampling_takes(int64_t step);

/* What was kept of a budget. */
struct tc_sampling_totals {
    uint64_t n_steps, n_traced; /* after those of the warm-up; 0: no budget, or none of these */
    uint64_t spent, worked;     /* since then, by tracing and by the job, in one unit */
};

/* Of a process that has made so many steps. Any thread, without a lock. */
void tc_sampling_total(int64_t n_steps, struct tc_sampling_totals *out);

/* At the end: the totals are brought up to date, and put into the trace as a note. */
void tc_sampling_finish(int64_t n_steps);

/* In a forked child, which counts its steps from 0. */
void tc_sampling_reset(void);

#endif /* TC_COLLECT_SAMPLING_H */
