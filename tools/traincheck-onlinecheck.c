/*
 * traincheck-onlinecheck - judge one trace by invariants
 */
#include "check.h"

#include "base/banned.h"

int main(int argc, char **argv)
{
    struct check_options options = {.max_traces = 1};
    struct tc_app app = {.tool = &onlinecheck_tool};
    return tc_app_main(&app, argc, argv, &options, check_run);
}
