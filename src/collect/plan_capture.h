/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_capture.h - collect --plan: what the options may say, and what the processes left behind
 */
#ifndef TC_COLLECT_PLAN_CAPTURE_H
#define TC_COLLECT_PLAN_CAPTURE_H

#include "base/strbuf.h"
#include "collect/job.h"
#include <traincheck/error.h>

/* Do the options of plans go together? Errors name the option, and files that are not there. */
enum tc_status tc_plan_check_options(const struct tc_collect_config *config, struct tc_error *err);

/* Is it the name of a plan's file? */
bool tc_plan_is_file(const char *name);

/* Describe the plans in a folder, for the line after a command: "8 plans". */
enum tc_status tc_plan_describe(const char *dir, struct tc_strbuf *out, size_t *n,
                                struct tc_error *err);

#endif /* TC_COLLECT_PLAN_CAPTURE_H */
