/* SPDX-License-Identifier: Apache-2.0 */
/*
 * course.h - what one process of a run calls, window by window
 *
 * It is read from its trace, or from the excerpt that an invariant file has of it.
 */
#ifndef TC_COMPARE_COURSE_H
#define TC_COMPARE_COURSE_H

#include "compare/course_window.h"
#include "compare/excerpt.h"

struct tc_course;

/* Whose course: one of the two is set; borrowed. */
struct tc_course_source {
    const char *path; /* of a trace file */
    const struct tc_excerpt_process *excerpt;
};

/* Errors as of tc_trace_file_open. scripts, if not NULL, gets the sources that are reported. */
enum tc_status tc_course_open(struct tc_course_source source,
                              const struct tc_course_context *context, struct tc_scripts *scripts,
                              struct tc_course **out, struct tc_error *err);
void tc_course_close(struct tc_course *course);

/* The next window, which the caller frees; TC_END after the last. */
enum tc_status tc_course_next(struct tc_course *course, struct tc_course_window **out,
                              struct tc_error *err);

/* Whose it is, as far as it was read: rank and world may come late. */
struct tc_course_owner {
    bool is_worker;
    int64_t rank; /* 0 where there is one process */
    int64_t world;
    int64_t began; /* wall clock */
};

struct tc_course_owner tc_course_owner(const struct tc_course *course);
const struct tc_record *tc_course_record(const struct tc_course *course); /* of the process */
uint64_t tc_course_json_bytes(const struct tc_course *course);

#endif /* TC_COMPARE_COURSE_H */
