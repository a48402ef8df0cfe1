/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_machine.c - findings on a plan for code scanning, test reports and pull requests
 *
 * Each finding is a result of SARIF, a failure of JUnit and an annotation of GitHub, at its line
 * of the script.
 */
#include "report/plan_report.h"

#include <string.h>

#include "base/safe.h"
#include "report/report.h"
#include "report/sarif_parts.h"

/* "train.py:51" of "train.py:51, in forward" */
static void add_place(const struct tc_plan_finding *f, struct tc_strbuf *at)
{
    const char *comma = strstr(f->src, ", in ");

    tc_strbuf_add(at, f->src, comma ? (size_t)(comma - f->src) : strlen(f->src));
}

/* ---- SARIF --------------------------------------------------------------------------------- */

static struct tc_json *result_of(const struct tc_plan_report *r, const struct tc_plan_finding *f)
{
    struct tc_json *result = tc_json_object();
    struct tc_strbuf at = TC_STRBUF_INIT;

    add_place(f, &at);
    tc_json_set_string(result, "ruleId", f->kind);
    tc_json_set_string(result, "level",
                       r->verdict->outcome == TC_PLAN_UNJUDGED ? "warning" : "error");
    tc_json_set(result, "message", tc_sarif_message(f->text));
    tc_json_set(result, "locations", tc_sarif_locations(at.text));
    tc_strbuf_release(&at);
    return result;
}

void tc_plan_report_sarif(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    struct tc_json *driver = tc_json_object(), *results = tc_json_array();

    tc_json_set_string(driver, "name", "traincheck");
    for (size_t i = 0; i < r->verdict->findings.n; i++)
        tc_json_append(results, result_of(r, &r->verdict->findings.items[i]));
    tc_sarif_print(driver, results, out);
}

/* ---- JUnit: a test case for each result ---------------------------------------------------- */

static const struct tc_plan_finding *finding_of(const struct tc_plan_report *r, const char *name)
{
    for (size_t i = 0; i < r->verdict->findings.n; i++)
        if (!strcmp(r->verdict->findings.items[i].name, name))
            return &r->verdict->findings.items[i];
    return NULL;
}

static void add_case(const struct tc_plan_report *r, const struct tc_plan_judged *judged,
                     struct tc_strbuf *out)
{
    const char *name = tc_strtab_text(r->single->names, judged->name);
    const struct tc_plan_finding *f = finding_of(r, name);

    tc_strbuf_adds(out, "    <testcase classname=\"plan\" name=\"");
    tc_safe_adds(out, TC_SAFE_XML, name);
    tc_strbuf_adds(out, "\">");
    if (judged->is_wrong || judged->is_missing) {
        tc_strbuf_adds(out, "<failure message=\"");
        tc_safe_adds(out, TC_SAFE_XML, f ? f->text : "differs from the single-device result");
        tc_strbuf_adds(out, "\"/>");
    } else if (r->verdict->outcome == TC_PLAN_UNJUDGED || !r->verdict->n_verified) {
        tc_strbuf_adds(out, "<skipped message=\"unjudged\"/>");
    } else if (judged->is_set_apart) {
        tc_strbuf_adds(out, "<skipped message=\"reduced within the optimizer's step\"/>");
    }
    tc_strbuf_adds(out, "</testcase>\n");
}

void tc_plan_report_junit(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    const struct tc_plan_verdict *v = r->verdict;
    bool is_judged = v->n_wrong + v->n_verified > 0;
    size_t errors = is_judged ? 0 : v->findings.n;

    tc_strbuf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    tc_strbuf_addf(
        out,
        "  <testsuite name=\"traincheck\" tests=\"%zu\" failures=\"%llu\" errors=\"%zu\" "
        "skipped=\"%zu\">\n",
        v->results.n + errors, (unsigned long long)v->n_wrong, errors,
        is_judged ? v->results.n - v->n_wrong - v->n_verified : v->results.n);
    for (size_t i = 0; i < errors; i++) {
        tc_strbuf_adds(out, "    <testcase classname=\"plan\" name=\"");
        tc_safe_adds(out, TC_SAFE_XML, v->findings.items[i].kind);
        tc_strbuf_adds(out, "\"><error message=\"");
        tc_safe_adds(out, TC_SAFE_XML, v->findings.items[i].text);
        tc_strbuf_adds(out, "\"/></testcase>\n");
    }
    for (size_t i = 0; i < v->results.n; i++)
        add_case(r, &v->results.items[i], out);
    tc_strbuf_adds(out, "  </testsuite>\n</testsuites>\n");
}

/* ---- GitHub -------------------------------------------------------------------------------- */

void tc_plan_report_github(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    for (size_t i = 0; i < r->verdict->findings.n; i++) {
        const struct tc_plan_finding *f = &r->verdict->findings.items[i];
        struct tc_strbuf at = TC_STRBUF_INIT, path = TC_STRBUF_INIT;
        int64_t line;
        add_place(f, &at);
        tc_strbuf_adds(out, "::error ");
        if (tc_report_location(at.text, &path, &line)) {
            tc_strbuf_adds(out, "file=");
            tc_safe_add(out, TC_SAFE_GITHUB_PROPERTY, path.text, path.size);
            tc_strbuf_addf(out, ",line=%lld,", (long long)line);
        }
        tc_strbuf_addf(out, "title=TrainCheck plan %s::", f->kind);
        tc_safe_adds(out, TC_SAFE_GITHUB, f->text);
        tc_strbuf_addc(out, '\n');
        tc_strbuf_release(&path);
        tc_strbuf_release(&at);
    }
}
