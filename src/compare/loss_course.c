/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_course.c - a series of bounded length, thinned out as it grows
 */
#include "compare/loss_course.h"

static void drop_every_other(struct tc_loss_course *course)
{
    size_t n = 0;

    for (size_t i = 0; i < course->points.n; i += 2)
        course->points.items[n++] = course->points.items[i];
    course->points.n = n;
    course->shift++;
}

void tc_loss_course_add(struct tc_loss_course *course, int64_t step, double value)
{
    const struct tc_loss_point point = {step, value};

    if (course->points.n == TC_MAX_LOSS_POINTS)
        drop_every_other(course);
    if (course->n_steps++ % (UINT64_C(1) << course->shift) == 0)
        tc_vec_push(&course->points, point);
}

static bool loss_of(const struct tc_course_call *call, double *value)
{
    return tc_value_number(tc_value_get(call->begin->self, "value"), value);
}

void tc_loss_course_note(struct tc_loss_course *course, const struct tc_call_sites *sites,
                         const struct tc_course_window *window)
{
    uint32_t site = TC_NO_CALL;
    double sum = 0, value, n = 0;

    for (size_t i = 0; i < window->calls.n && window->has_step; i++) {
        const struct tc_course_call *call = &window->calls.items[i];
        if (sites->items.items[call->site].role != TC_ROLE_BACKWARD || (n && call->site != site) ||
            !loss_of(call, &value))
            continue;
        site = call->site;
        sum += value;
        n++;
    }
    if (n)
        tc_loss_course_add(course, window->step, sum / n);
}

void tc_loss_course_release(struct tc_loss_course *course)
{
    tc_vec_release(&course->points);
}
