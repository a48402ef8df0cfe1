/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - forms in which the result of a check is written
 *
 * A report is a struct of functions run by one driver (write.c). To add one: a .c file and a row in
 * write.c.
 */
#ifndef TC_REPORT_REPORT_H
#define TC_REPORT_REPORT_H

#include "base/json.h"
#include "check/engine.h"
#include "check/group.h"
#include "check/suppress.h"
#include "finding/finding.h"
#include "report/run_course.h"
#include <traincheck/check.h>

/* What was read of one trace. */
struct tc_report_run {
    const char *trace; /* as it was named; NULL: not read yet */
    uint64_t n_records, n_calls, n_windows;
    int exit_status; /* the first other than 0 among its processes, but for workers; else 0 */
    struct tc_json *identity; /* run_course.h; NULL: not known */
};

/* Everything a report may speak of; all but findings and suppressed is borrowed. */
struct tc_report_input {
    const struct tc_check_config *config;
    const struct tc_check_result *result;
    const struct tc_engine *engine;
    const struct tc_strtab *symbols;
    const struct tc_notes *notes;
    const struct tc_suppressions *suppressions;
    struct tc_findings findings;            /* of the violations that count */
    const struct tc_violation **suppressed; /* the others, in reading order */
    size_t n_suppressed;
    const struct tc_report_run *runs; /* one for each trace of config */
    const struct tc_run_courses *courses;
    double lag_s;       /* of a run that goes on: seconds from what was read to what is there */
    unsigned refresh_s; /* a page that shows this looks again after so long; 0: it is final */
};

struct tc_report {
    const char *name; /* in --format; NULL: written always */
    const char *file; /* in the output folder; NULL: goes to stdout */
    void (*print)(const struct tc_report_input *input, struct tc_strbuf *out);
    /* For what may be larger than memory: writes the file itself. One of the two is NULL. */
    enum tc_status (*write)(const struct tc_report_input *input, const char *path,
                            struct tc_error *err);
};

/* Groups and counts what the engine found; fills the verdicts of result. */
void tc_report_input_make(struct tc_report_input *input, const struct tc_check_config *config,
                          const struct tc_engine *engine, const struct tc_strtab *symbols,
                          const struct tc_suppressions *suppressions,
                          struct tc_departures *departures, struct tc_notes *notes,
                          struct tc_check_result *result);
void tc_report_input_release(struct tc_report_input *input);

/* The files of the output folder, which must be there, and the metrics. One that cannot be written
 * keeps none of the others back; the first such error is returned. */
enum tc_status tc_report_write(const struct tc_report_input *input, struct tc_error *err);
/* What belongs on stdout: text or JSON Lines. */
void tc_report_print(const struct tc_report_input *input, struct tc_strbuf *out);
/* Only the reports without a file. */
void tc_report_print_added(const struct tc_report_input *input, struct tc_strbuf *out);

/* A violation as the object of docs/violation-format.md, without its finding; the caller owns it.
 */
struct tc_json *tc_violation_to_json(const struct tc_violation *violation,
                                     const struct tc_strtab *symbols);

/* Violation i of a finding, both counted from 0, with its finding. */
struct tc_json *tc_evidence_to_json(const struct tc_report_input *input, size_t finding, size_t i);
/* Each finding with its violations behind it, as JSON Lines. */
void tc_report_json(const struct tc_report_input *input, struct tc_strbuf *out);
/* The object of violations_summary.json. */
struct tc_json *tc_summary_to_json(const struct tc_report_input *input);

/* "src/train.py:57" taken apart, the path as seen from the working folder if it lies below. False
 * if at names no line. */
bool tc_report_location(const char *at, struct tc_strbuf *path, int64_t *line);

/* OpenMetrics. */
void tc_report_metrics(const struct tc_report_input *input, struct tc_strbuf *out);

/* Findings as text for a terminal. */
void tc_report_text(const struct tc_report_input *input, struct tc_strbuf *out);
/* One finding; its violations are counted but for those that say most. names_run: there are
 * several. */
void tc_report_text_finding(const struct tc_finding *finding, bool color, bool names_run,
                            struct tc_strbuf *out);
/* One violation in full. */
void tc_report_text_violation(const struct tc_violation *violation, bool color, bool names_run,
                              struct tc_strbuf *out);

/* Every invariant with that id (several may differ in their precondition) in full, with what became
 * of it if traces were read. False if there is none. */
bool tc_report_explain(const struct tc_report_input *input, const char *id, struct tc_strbuf *out);

/* "EC-3f9a1c20": why its verdict is what it is, in words; "" if the verdict says it all. */
const char *tc_verdict_reason(const struct tc_judgement *judgement);

#endif /* TC_REPORT_REPORT_H */
