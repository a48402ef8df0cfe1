/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_course.h - what is recorded of the runs that are checked, besides verdicts: who they are, and
 * how the loss and the learning rate of each rank went
 */
#ifndef TC_REPORT_RUN_COURSE_H
#define TC_REPORT_RUN_COURSE_H

#include "base/json.h"
#include "compare/loss_course.h"
#include "replay/event.h"

/* Of one main process. */
struct tc_run_course {
    const char *trace;                /* as it was named; borrowed */
    int64_t rank;                     /* -1 when unknown */
    int64_t last_step;                /* that it made; -1: none */
    struct tc_loss_course loss, rate; /* rate: lr of the first parameter group, after each step */
    /* The window that is open: calls of backward() that come from one line. */
    double sum;
    uint64_t n;
    tc_sym at;
};

/* All zero to begin with. */
struct tc_run_courses {
    struct tc_map by_process; /* of the run that is read -> number, plus one */
    TC_VEC(struct tc_run_course) items;
};

/* Every event of the run of that name, in turn. */
void tc_run_courses_note(struct tc_run_courses *courses, const char *trace,
                         const struct tc_strtab *symbols, const struct tc_event *event);
void tc_run_courses_release(struct tc_run_courses *courses);

/* Who a run is, by the process record: argv, python, packages, host and the rest that is known of
 * it. The caller owns it. */
struct tc_json *tc_run_identity(const struct tc_value *process);

#endif /* TC_REPORT_RUN_COURSE_H */
