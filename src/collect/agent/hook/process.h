/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - the life of the traced process: file, fork, exit, fatal signals
 */
#ifndef TC_COLLECT_PROCESS_H
#define TC_COLLECT_PROCESS_H

#include "collect/agent/agent.h"

struct tc_process_config {
    char *output_dir;
    uint64_t buffer_size;
    uint64_t keep; /* bytes of disk that a file may take; 0: any number */
    bool drop;
    bool closing_line; /* this process reports at its end */
    bool is_injected;  /* loaded by sitecustomize, not by the collector itself */
};

/* Tell the board at path (NULL: there is none), show what it says. */
void tc_process_join(const char *path, bool has_progress);
/* First of all: memory that is out later ends tracing and not the job. */
void tc_process_reserve_memory(void);
/* Called once; takes over the strings. */
void tc_process_start(const struct tc_process_config *config);
/* Open the file and write its first line; false with a Python error set. */
bool tc_process_open(const char *path, const char *record);
void tc_process_torch_met(void);
/* Last look, last window, end record, close. exit_status -1: unknown. The interpreter may be gone.
 */
void tc_process_finish_windows(void);
void tc_process_finish(int exit_status);
/* Threads of ours end before a fork and start again after it. */
void tc_process_before_fork(void);
void tc_process_after_fork(void);
/* In a forked child. */
void tc_process_forked(void);

#endif /* TC_COLLECT_PROCESS_H */
