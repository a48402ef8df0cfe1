/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume.h - a run that goes on from a checkpoint, and the run that it goes on from
 *
 * The run's first step is that step of the reference before which most of its variables have equal
 * content. Variables are compared as they are there; what the reference saved and the run never
 * loads is named; windows are matched from there on.
 */
#ifndef TC_COMPARE_RESUME_H
#define TC_COMPARE_RESUME_H

#include "compare/comparison.h"

/* Windows of the two processes that are each other's like: the first with a step of the run. */
struct tc_resume {
    size_t window_a, window_b;
    int64_t step_a;
};

/* Find it, and tell what is not as it was. from_step: TC_NONE, or the step of the reference.
 * TC_E_FORMAT: no step of the reference has the run's weights, or it has no such step. */
enum tc_status tc_resume_compare(struct tc_pair_state *state, const struct tc_process_outline *a,
                                 const struct tc_process_outline *b, int64_t from_step,
                                 struct tc_resume *out, struct tc_error *err);

#endif /* TC_COMPARE_RESUME_H */
