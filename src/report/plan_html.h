/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_html.h - parts of the page on a plan
 */
#ifndef TC_REPORT_PLAN_HTML_H
#define TC_REPORT_PLAN_HTML_H

#include "report/plan_report.h"

/* Two figures, or nothing if nothing is drawn. */
void tc_plan_draw_html(const struct tc_plan_drawing *drawing, struct tc_strbuf *out);

#endif /* TC_REPORT_PLAN_HTML_H */
