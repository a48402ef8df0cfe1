/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - the parts of a check, for a folder that is finished and for one that grows
 */
#ifndef TC_REPORT_RUN_H
#define TC_REPORT_RUN_H

#include "check/choice.h"
#include "report/report.h"

/* One check: what it knows by, and what it found so far. */
struct tc_check {
    const struct tc_check_config *config;
    struct tc_check_result *result;
    struct tc_notes *notes, *own_notes; /* own: in place of the caller's NULL */
    struct tc_strtab *symbols;
    struct tc_invariant_set set;
    struct tc_suppressions suppressions;
    const struct tc_strtab *left_out; /* of all that is judged; NULL: nothing is */
    struct tc_engine *engine;
    struct tc_choice choice;
    struct tc_departures *departures;
    uint64_t started_ns;
    size_t trace;               /* being read */
    struct tc_report_run *runs; /* one for each trace */
    struct tc_run_courses courses;
    int lock;           /* of the output folder; -1 before it is taken */
    bool made_dir;      /* the output folder was not there before */
    double lag_s;       /* of a run that goes on, as of the next report */
    unsigned refresh_s; /* the run goes on, and the next report comes after so long; 0: it ended */
    bool has_reported;  /* there is something in it */
};

/* Read the invariants. All parameters are borrowed; close it also when this fails. */
enum tc_status tc_check_open(struct tc_check *check, const struct tc_check_config *config,
                             struct tc_check_result *result, struct tc_notes *notes,
                             struct tc_error *err);
/* Takes back an output folder that was made for nothing. */
void tc_check_close(struct tc_check *check);

/* A tc_event_fn with the check as context. */
void tc_check_judge(void *check, const struct tc_event *event);

/* Make the output folder, unless it is there, and keep other checkers from writing into it. */
enum tc_status tc_check_take_dir(struct tc_check *check, struct tc_error *err);
/* Add what a folder held, and what its replay met, to the result. */
void tc_check_count_trace(struct tc_check *check, const struct tc_replay *replay,
                          const struct tc_trace_folder *folder);
/* Write all reports of what is known so far, and to config->write if to_stdout. May be called again
 * as more becomes known. */
enum tc_status tc_check_report(struct tc_check *check, bool to_stdout, struct tc_error *err);

/* What is known so far, but for what is suppressed; release it. */
void tc_check_findings(const struct tc_check *check, struct tc_findings *findings);

#endif /* TC_REPORT_RUN_H */
