/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_course.h - the number that backward() starts from, step by step, in bounded memory
 *
 * Where a course is full, every other point is dropped, and from then on only every other step is
 * kept: the points stay even, whatever the length of the run.
 */
#ifndef TC_COMPARE_LOSS_COURSE_H
#define TC_COMPARE_LOSS_COURSE_H

#include "compare/course.h"

#define TC_MAX_LOSS_POINTS 2000

struct tc_loss_point {
    int64_t step;
    double value; /* may be infinite or NaN */
};

/* All zero to begin with. */
struct tc_loss_course {
    TC_VEC(struct tc_loss_point) points;
    uint64_t n_steps; /* that had a number, kept or not */
    unsigned shift;   /* every 2^shift-th of them is kept */
};

void tc_loss_course_add(struct tc_loss_course *course, int64_t step, double value);
/* Add the number of a window that holds an optimizer step, if one was recorded: the mean over the
 * calls of backward() that come from the same line as the first. */
void tc_loss_course_note(struct tc_loss_course *course, const struct tc_call_sites *sites,
                         const struct tc_course_window *window);
void tc_loss_course_release(struct tc_loss_course *course);

#endif /* TC_COMPARE_LOSS_COURSE_H */
