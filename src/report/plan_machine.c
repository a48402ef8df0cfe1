/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_machine.c - findings on a plan for code scanning, test reports and pull requests
 */
#include "report/plan_report.h"

#include <string.h>

#include "base/safe.h"
#include "report/report.h"

/* "train.py" and 51 of "train.py:51, in forward"; false if there is none. */
static bool location(const struct tc_plan_finding *f, struct tc_strbuf *path, int64_t *line)
{
    const char *comma = strstr(f->src, ", in ");
    struct tc_strbuf at = TC_STRBUF_INIT;
    bool found;

    tc_strbuf_add(&at, f->src, comma ? (size_t)(comma - f->src) : strlen(f->src));
    found = at.size && tc_report_location(at.text, path, line);
    tc_strbuf_release(&at);
    return found;
}

/* ---- SARIF --------------------------------------------------------------------------------- */

static struct tc_json *message(const char *text)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "text", text);
    return object;
}

static struct tc_json *locations(const struct tc_plan_finding *f)
{
    struct tc_json *array = tc_json_array(), *place = tc_json_object(),
                   *artifact = tc_json_object(), *region = tc_json_object(),
                   *physical = tc_json_object();
    struct tc_strbuf path = TC_STRBUF_INIT;
    int64_t line = 0;

    if (location(f, &path, &line)) {
        tc_json_set_string(artifact, "uri", path.text);
        tc_json_set_number(region, "startLine", (double)line);
        tc_json_set(physical, "artifactLocation", artifact);
        tc_json_set(physical, "region", region);
        tc_json_set(place, "physicalLocation", physical);
        tc_json_append(array, place);
    } else {
        tc_json_free(artifact);
        tc_json_free(region);
        tc_json_free(physical);
        tc_json_free(place);
    }
    tc_strbuf_release(&path);
    return array;
}

void tc_plan_report_sarif(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    struct tc_json *log = tc_json_object(), *runs = tc_json_array(), *run = tc_json_object(),
                   *tool = tc_json_object(), *driver = tc_json_object(), *results = tc_json_array();

    tc_json_set_string(driver, "name", "traincheck");
    tc_json_set(tool, "driver", driver);
    for (size_t i = 0; i < r->verdict->findings.n; i++) {
        const struct tc_plan_finding *f = &r->verdict->findings.items[i];
        struct tc_json *result = tc_json_object();
        tc_json_set_string(result, "ruleId", f->kind);
        tc_json_set_string(result, "level",
                           r->verdict->outcome == TC_PLAN_UNJUDGED ? "warning" : "error");
        tc_json_set(result, "message", message(f->text));
        tc_json_set(result, "locations", locations(f));
        tc_json_append(results, result);
    }
    tc_json_set_string(log, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    tc_json_set_string(log, "version", "2.1.0");
    tc_json_set(run, "tool", tool);
    tc_json_set(run, "results", results);
    tc_json_append(runs, run);
    tc_json_set(log, "runs", runs);
    tc_json_print(log, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(log);
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
        struct tc_strbuf path = TC_STRBUF_INIT;
        int64_t line;
        tc_strbuf_adds(out, "::error ");
        if (location(f, &path, &line)) {
            tc_strbuf_adds(out, "file=");
            tc_safe_add(out, TC_SAFE_GITHUB_PROPERTY, path.text, path.size);
            tc_strbuf_addf(out, ",line=%lld,", (long long)line);
        }
        tc_strbuf_addf(out, "title=TrainCheck plan %s::", f->kind);
        tc_safe_adds(out, TC_SAFE_GITHUB, f->text);
        tc_strbuf_addc(out, '\n');
        tc_strbuf_release(&path);
    }
}
