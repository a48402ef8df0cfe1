/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h - run a training job with tracing inside the process
 */
#ifndef TC_COLLECT_COLLECT_H
#define TC_COLLECT_COLLECT_H

#include <traincheck/error.h>

#include "collect/job.h"

/*
 * Run the job. On TC_OK *exit_status is what this process should exit with: the job's own status,
 * or 128 + the signal that ended it. On failure the job was not started; the caller prints
 * err->text after "traincheck-collect: " and exits with TC_COLLECT_FAILED.
 *
 * To be called once, from the main thread: with TC_COLLECT_SCRIPT and TC_COLLECT_MODULE this
 * process becomes the user's interpreter, and a job that ends by os._exit, exec or a signal never
 * returns here.
 */
enum tc_status tc_collect_run(const struct tc_collect_config *config, int *exit_status,
                              struct tc_error *err);

/*
 * One option of a config file: name is the long option with underscores, value its text, exactly as
 * if --name value stood on the command line. A member of a list is one call; true is value NULL,
 * false is left out.
 */
typedef enum tc_status tc_collect_option_fn(void *context, const char *name, const char *value,
                                            struct tc_error *err);

/* Read a YAML file and hand its options to set, in order. Errors name file and line. */
enum tc_status tc_collect_config_read(const char *path, tc_collect_option_fn *set, void *context,
                                      struct tc_error *err);

#endif /* TC_COLLECT_COLLECT_H */
