/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traincheck-infer - learn invariants from traces of healthy runs
 */
#include "infer.h"

int main(int argc, char **argv)
{
    struct infer_options options = {0};
    struct tc_app app = {.tool = &infer_tool};
    tc_app_hold_stderr();
    return tc_app_main(&app, argc, argv, &options, infer_run);
}
