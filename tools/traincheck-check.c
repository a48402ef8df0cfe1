/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traincheck-check - judge finished traces by invariants, and plans by a reference
 *
 * The options say which work this is; each has a file, tools/run_*.c.
 */
#include "check.h"

static enum tc_status run(struct tc_app *app, void *options_, struct tc_error *err)
{
    struct check_options *options = options_;

    if (options->self_test)
        return check_self_test(app, options, err);
    if (options->plan || options->plan_reference)
        return check_plan(app, options, err);
    if (options->against.n || options->resumed || options->from_step)
        return check_compare(app, options, err);
    if (options->each || options->skip_checked)
        return check_each(app, options, err);
    return check_run(app, options, err);
}

int main(int argc, char **argv)
{
    struct check_options options = {0};
    struct tc_app app = {.tool = &check_tool};
    tc_app_hold_stderr();
    return tc_app_main(&app, argc, argv, &options, run);
}
