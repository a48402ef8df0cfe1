/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traincheck-collect - run a training job and write a trace of it
 */
#include "collect.h"

int main(int argc, char **argv)
{
    struct collect_options options = {.content = TC_CONTENT_NOT_GIVEN};
    struct tc_app app = {.tool = &collect_tool, .failed = TC_COLLECT_FAILED};
    return tc_app_main(&app, argc, argv, &options, collect_run);
}
