/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - which job is to be run, and what of it is traced
 *
 * The strings and arrays of a config are borrowed. NULL, 0 and false mean "not
 * given"; what then holds is said beside each member.
 */
#ifndef TC_COLLECT_JOB_H
#define TC_COLLECT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What follows the options on the command line. */
enum tc_collect_form {
    TC_COLLECT_SCRIPT,  /* train.py ARGS...: target[0] is the script */
    TC_COLLECT_MODULE,  /* -m package.module ARGS...: target[0] is the module */
    TC_COLLECT_COMMAND, /* -- COMMAND ARGS...: target[0] is the program, found on PATH */
};

enum tc_collect_overflow {
    TC_COLLECT_BLOCK, /* training waits for the disk */
    TC_COLLECT_DROP,  /* records are dropped and counted */
};

/* What of the content of tensors is recorded; docs/trace-format.md, "Content". */
enum tc_collect_content {
    TC_COLLECT_CONTENT_DEFAULT, /* batches; with invariants: off, unless one of them needs it */
    TC_COLLECT_CONTENT_OFF,
    TC_COLLECT_CONTENT_BATCHES,
    TC_COLLECT_CONTENT_FULL,
};

/* What a trace holds of the script's arguments. */
enum tc_collect_argv {
    TC_COLLECT_ARGV_MASKED, /* *** for values of options named key, token, secret, password ... */
    TC_COLLECT_ARGV_FULL,
    TC_COLLECT_ARGV_NONE,
};

/* Exit status of a run that failed before the job started, as of env(1) and timeout(1). */
#define TC_COLLECT_FAILED 125

struct tc_collect_config {
    enum tc_collect_form form;
    const char *const *target; /* what to run and its arguments; not empty but with list_apis */
    size_t n_target;

    const char *output_dir; /* default traincheck_<script>_<date-time> */
    bool overwrite;         /* remove the trace_* files of output_dir first */

    const char *const *invariants; /* invariant files: selective mode */
    size_t n_invariants;

    const char *const *instrument; /* packages whose public functions are traced beside torch's */
    size_t n_instrument;
    const char *apis_file; /* more APIs, one dotted name a line, # starts a comment */
    bool list_apis;        /* print the APIs that would be traced, run nothing */
    bool tensor_methods;   /* trace the public methods of torch.Tensor */
    bool no_operators;     /* leave out the script's own lines and functions */
    bool no_source;        /* leave out the text of the script's own files */

    const char *const *models_to_track; /* names of root modules; default all */
    size_t n_models_to_track;

    unsigned sampling_interval; /* trace every Nth step; 0 and 1: all */
    unsigned budget;            /* millionths of the job's own time that tracing may add; 0: all
                                   steps are traced, or those of sampling_interval */
    unsigned warm_up_steps;     /* steps traced before sampling starts; with a budget 0: 10 */

    uint64_t digest_budget; /* bytes of tensors digested in full at one look; 0: 64 MiB */
    enum tc_collect_content content;
    bool stats;           /* record min, max, mean, NaN and infinity counts of tensors */
    unsigned stack_depth; /* frames of the user's stack on each call; 0: the nearest line */

    uint64_t buffer_size; /* bytes; 0: 64 MiB */
    uint64_t keep;        /* bytes of disk that the file of a process may take; 0: any number */
    enum tc_collect_overflow overflow;
    enum tc_collect_argv argv;

    const char *python;      /* interpreter; default: of the environment, else python3 on PATH */
    const char *config_file; /* YAML: read by tc_collect_config_read before the run */

    const char *plan;        /* folder: write the plan of a step of each rank there, and no trace */
    unsigned plan_world;     /* ranks of a job that is not there; 0: the job that runs */
    const char *plan_ranks;  /* those captured, "0-3,8"; default all; the others are retargeted */
    const char *plan_layout; /* file that says where plain tensors lie in the single-device ones */
    unsigned plan_step;      /* counted from 1; 0: 2 */
    unsigned plan_jobs;      /* ranks captured at once; 0: 1 */

    bool strict; /* a part of tracing that was switched off makes the run fail with 125 */
    bool quiet;
    unsigned verbose;
    bool progress; /* a status line while running, if stderr is a terminal */
};

#endif /* TC_COLLECT_JOB_H */
