/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h - what the agent is told: one environment variable of lines key=value
 */
#ifndef TC_COLLECT_SELECT_H
#define TC_COLLECT_SELECT_H

#include "base/strbuf.h"
#include "collect/job.h"
#include <traincheck/error.h>

#define TC_SETTINGS_VARIABLE "TRAINCHECK_COLLECT"

/* What the run adds to its config. */
struct tc_select_run {
    const char *output_dir; /* absolute; NULL with list_apis */
    const char *inject;     /* folder of the sitecustomize of children */
    const char *board;      /* path of the run's board, or NULL */
    const char *job;        /* as of tc_peers_name_job(), or NULL */
    long main_pid;          /* the process that writes the closing line; 0: the collector does */
    bool is_injected;       /* main_pid has no shared library */
};

/* Render the settings of a run. Errors name the file of invariants or APIs. */
enum tc_status tc_select_settings(const struct tc_collect_config *config,
                                  const struct tc_select_run *run, struct tc_strbuf *out,
                                  struct tc_error *err);

#endif /* TC_COLLECT_SELECT_H */
