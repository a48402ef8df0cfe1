/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - starting the job, one function for each way
 */
#ifndef TC_COLLECT_LAUNCH_H
#define TC_COLLECT_LAUNCH_H

#include "collect/job.h"
#include "collect/python.h"
#include <traincheck/error.h>

/*
 * Become the interpreter: load its libpython and run Python's own main with argv (argv[0] is the
 * interpreter). Returns only if the job never started, or with *exit_status where Python returns.
 */
enum tc_status tc_launch_hosted(const struct tc_python *python, int argc, char **argv,
                                int *exit_status, struct tc_error *err);

/* Replace this process by the interpreter, the agent being injected. Returns only on failure. */
enum tc_status tc_launch_injected(const struct tc_python *python, char **argv,
                                  struct tc_error *err);

/* Run a command as a child, the agent being injected in every Python below it. */
enum tc_status tc_launch_command(const struct tc_python *python, char **argv, int *exit_status,
                                 struct tc_error *err);

#endif /* TC_COLLECT_LAUNCH_H */
