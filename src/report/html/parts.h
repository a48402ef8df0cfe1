/*
 * parts.h - the parts of the pages, put in by cmake/embed_text.cmake
 */
#ifndef TC_REPORT_HTML_PARTS_H
#define TC_REPORT_HTML_PARTS_H

extern const char tc_text_report_html[], tc_text_report_css[], tc_text_report_js[];
extern const char tc_text_steps_js[];
extern const char tc_text_fleet_html[], tc_text_fleet_css[], tc_text_fleet_js[];
extern const char tc_text_plan_css[], tc_text_compare_css[], tc_text_parts_css[];

#endif /* TC_REPORT_HTML_PARTS_H */
