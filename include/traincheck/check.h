/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - judging a trace by invariants
 */
#ifndef TRAINCHECK_CHECK_H
#define TRAINCHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>
#include <traincheck/trace.h>

struct tc_check_config {
    const char *const *traces; /* trace folders; each is one run */
    size_t n_traces;
    const char *const *invariants; /* files, or @NAME of shipped sets; they add up, equal ids count
                                      once */
    size_t n_invariants;
    const char *suppress;       /* file of ids whose violations do not count; NULL for none */
    const char *const *formats; /* further reports: names as of tc_check_format */
    size_t n_formats;
    const char *const *explain; /* ids to explain, in place of reports; then traces may be none */
    size_t n_explain;
    const char *metrics; /* OpenMetrics text goes there; NULL for none */
    unsigned jobs;       /* threads: one judges, a second one reads ahead; 0 means all cores. The
                            output does not depend on it */
    bool no_html_report;
    const char *output_dir;   /* created; an existing report in it is replaced. NULL: no reports */
    const char *command_line; /* for the summary; may be NULL */
    bool color;               /* ANSI colours in text handed to write */
    bool quiet;               /* text holds violations only */
    bool json;                /* write gets lines of findings and violations, no text */
    bool verbose;             /* text has all violations besides */
    /* Where violations go as text. */
    void (*write)(void *context, const char *text, size_t size);
    /* As in infer.h. */
    bool (*progress)(void *context, size_t i, size_t n, uint64_t bytes);
    void *context;
};

#define TC_CHECK_MAX_SETS 8

/* A set that @all stood for. */
struct tc_check_set {
    char name[32];  /* "@pytorch" */
    bool is_chosen; /* it is among the invariants below; else the run has nothing to do with it */
    char why[160];  /* "torch 2.13.0, 2 processes"; "a run of one process" */
};

struct tc_check_result {
    uint64_t n_invariants, n_failed, n_passed, n_not_triggered, n_unchecked;
    uint64_t n_settings;     /* of n_failed: no law broken, but a setting of the script changed */
    uint64_t n_remarks;      /* of n_failed: laws that findings of the kind `remark` hold */
    uint64_t n_suppressed;   /* failed, but known and accepted: not among n_failed */
    uint64_t n_findings;     /* each with the violations of one cause */
    uint64_t n_multi_failed; /* failed invariants learned from at least two pipelines */
    uint64_t n_records, n_calls, n_windows /* that held an optimizer step */, json_bytes, wall_ns;
    struct tc_check_set sets[TC_CHECK_MAX_SETS]; /* none without @all */
    size_t n_sets;
    uint64_t n_runs;        /* traces that were read */
    uint64_t n_runs_failed; /* of these: the job, or a process of it, exited with another status
                               than 0 */
    int exit_status;        /* that of the first of these, 0 if there is none */
    bool damaged;           /* a note says that something of the trace could not be read */
    char other_script[256]; /* something failed, and all invariants were learned from another
                               script: a sentence with both names; else empty */
};

/*
 * Read, judge, write the reports of docs/violation-format.md into output_dir.
 * TC_E_INTERRUPTED after progress returned false: everything found so far was written.
 */
TC_API enum tc_status tc_check_run(const struct tc_check_config *config,
                                   struct tc_check_result *result, struct tc_notes *notes,
                                   struct tc_error *err);

/* Names of the reports that are written when asked for; i counts from 0, NULL at the end. */
TC_API const char *tc_check_format(size_t i);

#endif /* TRAINCHECK_CHECK_H */
