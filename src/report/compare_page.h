/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_page.h - parts of the page of a comparison
 */
#ifndef TC_REPORT_COMPARE_PAGE_H
#define TC_REPORT_COMPARE_PAGE_H

#include "report/compare_report.h"

/* Text of others, at most max bytes of it. */
void tc_page_add(struct tc_strbuf *out, const char *text, size_t size, size_t max);

/* compare_sides.c: two scripts side by side, the reference left. */

/* The lines around a difference; false: no lines of it are in the traces, nothing was added. */
bool tc_page_add_lines(const struct tc_comparison *c, const struct tc_difference *d,
                       struct tc_strbuf *out);
/* All hunks of a file, one side may be NULL; up to so many bytes of page. */
void tc_page_add_hunks(const struct tc_script *a, const struct tc_script *b, size_t max_size,
                       struct tc_strbuf *out);

/* compare_chart.c: the section on the loss; adds nothing where no run shows a number. */
void tc_page_add_loss(const struct tc_comparison *c, struct tc_strbuf *out);

#endif /* TC_REPORT_COMPARE_PAGE_H */
