/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traincheck-onlinecheck - judge a trace by invariants while it is written
 */
#include "check.h"

int main(int argc, char **argv)
{
    struct check_options options = {
        .max_traces = 1, .lateness_s = 30, .report_interval_s = 30, .on_violation_limit_s = 60};
    struct tc_app app = {.tool = &onlinecheck_tool};
    tc_app_hold_stderr();
    return tc_app_main(&app, argc, argv, &options, onlinecheck_run);
}
