/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traincheck-check - judge finished traces by invariants, and plans by a reference
 */
#include "check.h"

int main(int argc, char **argv)
{
    struct check_options options = {0};
    struct tc_app app = {.tool = &check_tool};
    tc_app_hold_stderr();
    return tc_app_main(&app, argc, argv, &options, check_run_any);
}
