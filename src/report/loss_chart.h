/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_chart.h - the course of the loss as a chart and as a table, for all pages
 */
#ifndef TC_REPORT_LOSS_CHART_H
#define TC_REPORT_LOSS_CHART_H

#include "base/strbuf.h"
#include "compare/loss_course.h"

#define TC_CHART_LINES 2
#define TC_CHART_BANDS 2

/* The lowest and the highest of several courses, step by step. */
struct tc_chart_band {
    const char *name; /* "healthy runs" */
    const struct tc_loss_course *const *courses;
    size_t n;
};

/* Everything is borrowed. */
struct tc_loss_chart {
    struct tc_strbuf *out;
    const char *title;
    const char *names[TC_CHART_LINES];                    /* "this run" */
    const struct tc_loss_course *courses[TC_CHART_LINES]; /* NULL: no such line */
    double offsets[TC_CHART_LINES];                       /* to the steps of the chart */
    struct tc_chart_band bands[TC_CHART_BANDS];
    double mark; /* step of a vertical line; NaN: none */
    const char *mark_text;
    /* What tc_loss_chart_measure() finds. */
    double first, last, low, high;
    bool is_log;
};

/* False: there is no number that is finite. */
bool tc_loss_chart_measure(struct tc_loss_chart *chart);
/* After it was measured: legend, drawing, where numbers are not finite, and a table of the lines.
 */
void tc_loss_chart_add(const struct tc_loss_chart *chart);

#endif /* TC_REPORT_LOSS_CHART_H */
