/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_html.c - index.html: a table of many runs, those that failed first
 *
 * html/fleet.html has places for the style, the title, the rows and the script, each on a name
 * between two @. The rows are plain HTML, which the script only sorts and hides.
 */
#include "report/fleet.h"

#include <string.h>

#include "base/safe.h"
#include "report/html/parts.h"

static void add_xml(struct tc_strbuf *out, const struct tc_json *node)
{
    const char *text = tc_json_text(node);

    if (text)
        tc_safe_adds(out, TC_SAFE_XML, text);
}

/* A path as a link: what is no letter, digit or harmless mark is told by its bytes. */
static void add_link(struct tc_strbuf *out, const char *path)
{
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        const bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                              (*p >= '0' && *p <= '9') || strchr("-._~/", *p);
        if (is_plain)
            tc_strbuf_addc(out, (char)*p);
        else
            tc_strbuf_addf(out, "%%%02X", *p);
    }
}

static void add_number(struct tc_strbuf *out, const struct tc_json *node)
{
    tc_strbuf_adds(out, "<td>");
    if (node)
        tc_strbuf_addf(out, "%.0f", tc_json_to_number(node, 0));
    tc_strbuf_adds(out, "</td>");
}

static void add_name(struct tc_strbuf *out, const struct tc_json *run)
{
    const char *reports = tc_json_text(tc_json_get(run, "reports"));

    tc_strbuf_adds(out, "<td>");
    if (reports) {
        tc_strbuf_adds(out, "<a href=\"./");
        add_link(out, reports);
        tc_strbuf_adds(out, "/report.html\">");
    }
    add_xml(out, tc_json_get(run, "run"));
    tc_strbuf_adds(out, reports ? "</a></td>" : "</td>");
}

static void add_finding(struct tc_strbuf *out, const struct tc_json *run)
{
    const struct tc_json *first = tc_json_get(run, "first");

    tc_strbuf_adds(out, "<td>");
    if (tc_json_get(first, "at")) {
        tc_strbuf_adds(out, "<code>");
        add_xml(out, tc_json_get(first, "at"));
        tc_strbuf_adds(out, "</code> ");
    }
    add_xml(out, tc_json_get(first, "sentence"));
    add_xml(out, tc_json_get(run, "error"));
    tc_strbuf_adds(out, "</td>");
}

static void add_row(struct tc_strbuf *out, const struct tc_json *run)
{
    const enum tc_fleet_verdict verdict = tc_fleet_verdict(run);
    const char *name = tc_fleet_verdict_name(verdict);

    tc_strbuf_addf(out, "<tr><td class=\"%s\" data-order=\"%u\">%s</td>", name, (unsigned)verdict,
                   name);
    add_name(out, run);
    tc_strbuf_adds(out, "<td>");
    add_xml(out, tc_json_get(run, "script"));
    tc_strbuf_adds(out, "</td>");
    add_number(out, tc_json_get(tc_json_get(run, "first"), "step"));
    add_number(out, tc_json_get(run, "findings"));
    add_finding(out, run);
    tc_strbuf_adds(out, "</tr>\n");
}

static void add_rows(struct tc_strbuf *out, struct tc_json *const *runs, size_t n)
{
    for (unsigned verdict = 0; verdict < TC_FLEET_N_VERDICTS; verdict++)
        for (size_t i = 0; i < n; i++)
            if (runs[i] && tc_fleet_verdict(runs[i]) == verdict)
                add_row(out, runs[i]);
}

/* "1000 runs: 3 failed, 997 passed" */
static void add_title(struct tc_strbuf *out, struct tc_json *const *runs, size_t n)
{
    size_t counts[TC_FLEET_N_VERDICTS] = {0}, n_runs = 0;
    const char *between = ": ";

    for (size_t i = 0; i < n; i++)
        if (runs[i]) {
            counts[tc_fleet_verdict(runs[i])]++;
            n_runs++;
        }
    tc_strbuf_addf(out, "%zu run%s", n_runs, n_runs == 1 ? "" : "s");
    for (unsigned v = 0; v < TC_FLEET_N_VERDICTS; v++)
        if (counts[v]) {
            tc_strbuf_addf(out, "%s%zu %s", between, counts[v], tc_fleet_verdict_name(v));
            between = ", ";
        }
}

void tc_fleet_page(struct tc_json *const *runs, size_t n, struct tc_strbuf *out)
{
    const char *from = tc_text_fleet_html, *next;

    for (; (next = strchr(from, '@')); from = strchr(next + 1, '@') + 1) {
        tc_strbuf_add(out, from, (size_t)(next - from));
        if (!strncmp(next, "@CSS@", 5)) {
            tc_strbuf_adds(out, tc_text_report_css);
            tc_strbuf_adds(out, tc_text_fleet_css);
        } else if (!strncmp(next, "@TITLE@", 7)) {
            add_title(out, runs, n);
        } else if (!strncmp(next, "@ROWS@", 6)) {
            add_rows(out, runs, n);
        } else {
            tc_strbuf_adds(out, tc_text_fleet_js);
        }
    }
    tc_strbuf_adds(out, from);
}
