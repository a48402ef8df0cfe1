/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - options and work of traincheck-check and traincheck-onlinecheck
 */
#ifndef TC_TOOLS_CHECK_H
#define TC_TOOLS_CHECK_H

#include "cli/app.h"
#include <traincheck/check.h>

enum check_fail_on {
    CHECK_FAIL_ON_ANY,
    CHECK_FAIL_ON_MULTI,
    CHECK_FAIL_ON_LAW,
    CHECK_FAIL_ON_REMARK
};

struct check_options {
    struct tc_opt_list traces, invariants;
    struct tc_opt_list formats, explain, track;
    const char *output_dir, *suppress, *metrics;
    unsigned fail_on; /* enum check_fail_on */
    unsigned color;   /* enum tc_app_when */
    unsigned verbose;
    unsigned max_traces;   /* 0: any number */
    unsigned jobs;         /* of check alone; 0: all cores */
    unsigned hang_after_s; /* 0: nobody asks */
    bool no_html_report, overwrite, strict, exit_zero, json, progress, quiet;
    /* of onlinecheck alone */
    unsigned lateness_s, idle_s, report_interval_s, on_violation_limit_s;
    const char *on_violation, *state;
    bool delete_checked;
    const char *watch; /* the folder of many runs, in place of a trace */
    /* of check alone: a plan in place of traces */
    const char *plan, *plan_reference;
    /* of check alone: healthy runs in place of invariants */
    struct tc_opt_list against;
    bool resumed;
    const char *from_step;
    /* of check alone: what broke is meant */
    bool accept;
    const char *note;
    /* of check alone: each trace by itself */
    bool each, skip_checked;
    /* of check alone: two traces that are installed with the tool, in place of any other */
    bool self_test;
};

extern const struct tc_opt_tool check_tool, onlinecheck_tool;

tc_app_run_fn check_run, onlinecheck_run;

/* The work of traincheck-onlinecheck with --watch. */
enum tc_status check_watch(struct tc_app *app, const struct check_options *options,
                           struct tc_error *err);

/* The work of traincheck-check in place of check_run: with --plan the verification of a plan, with
 * --each a check of each run by itself, with --self-test one of the installation, with --against
 * the comparison of two runs. */
enum tc_status check_plan(struct tc_app *app, const struct check_options *options,
                          struct tc_error *err);
enum tc_status check_each(struct tc_app *app, struct check_options *options, struct tc_error *err);
enum tc_status check_self_test(struct tc_app *app, const struct check_options *options,
                               struct tc_error *err);
enum tc_status check_compare(struct tc_app *app, struct check_options *options,
                             struct tc_error *err);

/* The output folder: that of the option, or one named after what is checked. */
const char *check_output_dir(struct tc_app *app, const struct check_options *options,
                             const char *checked);

/* What the two tools share, before and after the check. */
enum tc_status check_begin(struct tc_app *app, struct check_options *options, struct tc_error *err);
struct tc_check_config check_config(struct tc_app *app, const struct check_options *options);
void check_end(struct tc_app *app, const struct check_options *options, enum tc_status status,
               const struct tc_check_result *result, const struct tc_notes *notes);

/* Does an argument that follows the value of -i belong to it? Files and @names do, traces do not.
 */
bool check_is_invariants(const char *argument);
/* One that follows the value of --against: anything but an option. */
bool check_is_trace(const char *argument);

#endif /* TC_TOOLS_CHECK_H */
