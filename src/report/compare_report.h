/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_report.h - forms in which the comparison of two runs is written
 */
#ifndef TC_REPORT_COMPARE_REPORT_H
#define TC_REPORT_COMPARE_REPORT_H

#include "base/json.h"
#include "base/strbuf.h"
#include "compare/two_runs.h"

/* Everything is borrowed but the arrays, which tc_compare_report_release frees. */
struct tc_compare_report {
    const struct tc_compare_config *config;
    const struct tc_compare_result *result;
    const struct tc_comparison *comparison;
    const struct tc_difference **order; /* all, as they are reported */
    bool *is_shown;                     /* of these: on the first screen */
    size_t n;
};

void tc_compare_report_make(struct tc_compare_report *report,
                            const struct tc_compare_config *config,
                            const struct tc_compare_result *result,
                            const struct tc_comparison *comparison);
void tc_compare_report_release(struct tc_compare_report *report);

/* The difference that leads; NULL: nothing differs but what is set aside. */
static inline const struct tc_difference *tc_compare_first(const struct tc_compare_report *r)
{
    return r->n && r->order[0]->aside == TC_ASIDE_NO ? r->order[0] : NULL;
}

void tc_compare_report_text(const struct tc_compare_report *r, struct tc_strbuf *out);
/* One object for each difference, then the summary: JSON Lines. */
void tc_compare_report_json(const struct tc_compare_report *r, struct tc_strbuf *out);
void tc_compare_report_sarif(const struct tc_compare_report *r, struct tc_strbuf *out);
void tc_compare_report_github(const struct tc_compare_report *r, struct tc_strbuf *out);
void tc_compare_report_html(const struct tc_compare_report *r, struct tc_strbuf *out);
struct tc_json *tc_compare_summary_to_json(const struct tc_compare_report *r);

/* compare_words.c */

/* "Optimizer.zero_grad() is no longer called" */
void tc_compare_sentence(const struct tc_comparison *c, const struct tc_difference *d,
                         struct tc_strbuf *out);
/* "train.py:16" of the run, or of the reference where the run has none; "" if neither has. */
const char *tc_compare_at(const struct tc_comparison *c, const struct tc_difference *d);
const char *tc_compare_at_run(const struct tc_comparison *c, const struct tc_difference *d);
const char *tc_compare_at_reference(const struct tc_comparison *c, const struct tc_difference *d);
/* The same as a line of the run: where the run has none, the one that stands there now. False: no
 * place is known. */
bool tc_compare_place(const struct tc_comparison *c, const struct tc_difference *d,
                      struct tc_strbuf *out);
/* ", made at train.py:12": the edited line that the value comes from, if its place is another. */
void tc_compare_origin(const struct tc_difference *d, struct tc_strbuf *out);
/* "from step 3 on, 26 times"; "before the first step" */
void tc_compare_when(const struct tc_comparison *c, const struct tc_difference *d,
                     struct tc_strbuf *out);
/* Where the values part, "in step 3", and how near they are; false: they do not. */
bool tc_compare_parted(const struct tc_comparison *c, struct tc_strbuf *out);
const char *tc_compare_why_aside(enum tc_set_aside aside);
/* What is said of a kind of which nothing differs: "equal", or that an excerpt has no values. */
const char *tc_compare_nothing(const struct tc_comparison *c, enum tc_difference_kind kind);

/* A file of the sources; NULL: that run has none. */
struct tc_file_pair {
    const struct tc_script *a, *b; /* of the reference, of the run */
};

/* Those that are not equal, those that are gone last; the caller frees them. */
struct tc_file_pair *tc_compare_files(const struct tc_comparison *c, size_t *n);
/* What became of one: ": 1 line gone, 2 new", " is new" */
void tc_compare_file(struct tc_file_pair pair, struct tc_strbuf *out);

/* A line of both scripts as a diff shows it. */
struct tc_quoted_line {
    char sign;           /* '-', '+' or ' ' */
    size_t number;       /* of the reference for '-', else of the run; from 1 */
    size_t of_reference; /* for ' ': its number there; 0: not known */
    const struct tc_script_line *line;
};

/* The lines around a difference, at most max; returns how many. 0: the traces hold no sources. */
size_t tc_compare_quote(const struct tc_comparison *c, const struct tc_difference *d,
                        struct tc_quoted_line *out, size_t max);

/* The same with so many lines more on both sides. */
size_t tc_compare_quote_around(const struct tc_comparison *c, const struct tc_difference *d,
                               size_t context, struct tc_quoted_line *out, size_t max);

/* These lines for a terminal; of many in a row the first few. */
void tc_compare_print_quote(const struct tc_comparison *c, const struct tc_difference *d,
                            bool color, struct tc_strbuf *out);

#endif /* TC_REPORT_COMPARE_REPORT_H */
