/*
 * report.h - forms in which the result of a check is written
 *
 * A report is a struct of functions run by one driver (run.c). To add one: a .c file and a row in
 * run.c.
 */
#ifndef TC_REPORT_REPORT_H
#define TC_REPORT_REPORT_H

#include "base/json.h"
#include "check/engine.h"
#include <traincheck/check.h>

/* Everything a report may speak of; all borrowed. */
struct tc_report_input {
    const struct tc_check_config *config;
    const struct tc_check_result *result;
    const struct tc_engine *engine;
    const struct tc_strtab *symbols;
    const struct tc_notes *notes;
    const struct tc_violation *const *violations; /* in reading order */
    size_t n_violations;
};

/* One file of the output folder. */
struct tc_report {
    const char *file;
    void (*print)(const struct tc_report_input *input, struct tc_strbuf *out);
};

extern const struct tc_report tc_report_violations; /* violations.jsonl */
extern const struct tc_report tc_report_failed, tc_report_passed, tc_report_not_triggered,
    tc_report_unchecked;                         /* one invariant a line */
extern const struct tc_report tc_report_summary; /* violations_summary.json */

/* A violation as the object of docs/violation-format.md; the caller owns it. */
struct tc_json *tc_violation_to_json(const struct tc_violation *violation,
                                     const struct tc_strtab *symbols);

/* Violations as text for a terminal, one block each. */
void tc_report_text(const struct tc_report_input *input, struct tc_strbuf *out);

#endif /* TC_REPORT_REPORT_H */
