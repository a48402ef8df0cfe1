/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - parts of report.html
 */
#ifndef TC_REPORT_PAGE_H
#define TC_REPORT_PAGE_H

#include "compare/healthy_run.h"
#include "report/report.h"

/* What the page is made of. */
struct tc_page {
    const struct tc_report_input *input;
    struct tc_excerpts excerpts; /* of the invariant files */
    TC_VEC(struct tc_healthy_run) healthy;
};

/* page_data.c: what the script of the page shows, as JSON. */
void tc_page_add_data(const struct tc_page *page, struct tc_strbuf *out);

/* page_loss.c: a chart of the loss for each rank that a finding speaks of, each in a <template>
 * "loss-N" of its own, and of the learning rate, "lr-N". */
void tc_page_add_charts(const struct tc_page *page, struct tc_strbuf *out);
/* N of a finding; negative: it has none. */
int64_t tc_page_chart_of(const struct tc_page *page, const struct tc_finding *finding);
/* Does it speak of the learning rate, which has a chart then? */
bool tc_page_has_rate(const struct tc_page *page, const struct tc_finding *finding);
/* N of run i of those that are checked, where nothing is found. */
int64_t tc_page_chart_of_run(const struct tc_page *page, const char *trace);

#endif /* TC_REPORT_PAGE_H */
