/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_html.c - the comparison as a page
 */
#include "report/compare_report.h"

void tc_compare_report_html(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    (void)r;
    (void)out;
}
