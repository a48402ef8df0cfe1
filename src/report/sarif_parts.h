/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sarif_parts.h - what all SARIF 2.1.0 documents have: the log around results, messages, locations
 *
 * Whoever is given a document owns it.
 */
#ifndef TC_REPORT_SARIF_PARTS_H
#define TC_REPORT_SARIF_PARTS_H

#include "base/json.h"

struct tc_json *tc_sarif_message(const char *text);
/* An array of one location, or of none where at names no line. */
struct tc_json *tc_sarif_locations(const char *at);
/* Print the log of one run of a tool, by its driver; takes both. */
void tc_sarif_print(struct tc_json *driver, struct tc_json *results, struct tc_strbuf *out);

#endif /* TC_REPORT_SARIF_PARTS_H */
