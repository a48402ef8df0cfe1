/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - which processes a folder of the Python tool holds, before it is read
 */
#ifndef TC_IMPORT_SURVEY_H
#define TC_IMPORT_SURVEY_H

#include "base/arena.h"
#include "base/strtab.h"
#include "base/vec.h"
#include <traincheck/error.h>
#include <traincheck/trace.h>

/* A number among the meta_vars of a process, as first seen. */
struct tc_survey_number {
    tc_sym key;
    int64_t value;
};

struct tc_survey_process {
    int64_t pid;
    int64_t rank, world; /* rank -1, world 1 where no number tells */
    bool has_stages;
    bool has_samples;     /* variables recorded at moments of the tool's own, not as they change */
    TC_VEC(size_t) files; /* places in paths */
    TC_VEC(struct tc_survey_number) numbers;
};

struct tc_survey {
    struct tc_strtab *keys;
    TC_VEC(struct tc_survey_process) processes; /* in order of first appearance */
};

void tc_survey_init(struct tc_survey *survey);
void tc_survey_release(struct tc_survey *survey);
/* Look through file number i; *is_one is false if no line of its beginning is of the tool. */
enum tc_status tc_survey_file(struct tc_survey *survey, const char *path, size_t i, bool *is_one,
                              struct tc_error *err);
/*
 * Ranks, once all files are known: the number that counts the processes from 0 without a gap. One
 * with "rank" in its name is preferred, else the first.
 */
void tc_survey_rank(struct tc_survey *survey);

#endif /* TC_IMPORT_SURVEY_H */
