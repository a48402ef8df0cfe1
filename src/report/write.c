/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.c - the reports there are, and the driver that writes them
 *
 * REPORTS is the table of all reports. tc_report_input_make() sets suppressed violations apart
 * and makes the findings once; every report reads the same input.
 */
#include "report/report.h"

#include <string.h>

#include "base/fs.h"

/* Every report, in the order of writing. */
#define REPORTS(X)             \
    X(tc_report_findings)      \
    X(tc_report_violations)    \
    X(tc_report_failed)        \
    X(tc_report_passed)        \
    X(tc_report_not_triggered) \
    X(tc_report_unchecked)     \
    X(tc_report_suppressed)    \
    X(tc_report_summary)       \
    X(tc_report_html)          \
    X(tc_report_sarif)         \
    X(tc_report_junit)         \
    X(tc_report_github)        \
    X(tc_report_chrome)

#define X(report) extern const struct tc_report report;
REPORTS(X)
#undef X

#define X(report) &report,
static const struct tc_report *const reports[] = {REPORTS(X)};
#undef X

#define N_REPORTS (sizeof(reports) / sizeof(*reports))

const char *tc_check_format(size_t i)
{
    for (size_t r = 0; r < N_REPORTS; r++)
        if (reports[r]->name && i-- == 0)
            return reports[r]->name;
    return NULL;
}

static bool is_wanted(const struct tc_check_config *config, const struct tc_report *report)
{
    if (!report->name)
        return report != &tc_report_html || !config->no_html_report;
    for (size_t i = 0; i < config->n_formats; i++)
        if (!strcmp(config->formats[i], report->name))
            return true;
    return false;
}

/* ---- what there is to report --------------------------------------------------------------- */

static void count_verdict(const struct tc_judgement *j, bool is_suppressed,
                          struct tc_check_result *result)
{
    switch (tc_engine_verdict(j)) {
    case TC_VERDICT_FAILED:
        result->n_suppressed += is_suppressed;
        result->n_failed += !is_suppressed;
        result->n_settings += !is_suppressed && j->violation && j->violation->is_setting;
        result->n_multi_failed += !is_suppressed && j->invariant->pipelines > 1;
        break;
    case TC_VERDICT_PASSED:
        result->n_passed++;
        break;
    case TC_VERDICT_NOT_TRIGGERED:
        result->n_not_triggered++;
        break;
    case TC_VERDICT_UNCHECKED:
        result->n_unchecked++;
        break;
    }
}

static const char *reason(const struct tc_suppressions *suppressions, const char *id)
{
    return suppressions ? tc_suppressions_reason(suppressions, id) : NULL;
}

/* Moves the suppressed ones, in their order, to the end; how many stay. */
static size_t set_apart(const struct tc_suppressions *suppressions,
                        struct tc_violation **violations, size_t n,
                        const struct tc_violation **suppressed)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (reason(suppressions, violations[i]->invariant->id))
            suppressed[i - kept] = violations[i];
        else
            violations[kept++] = violations[i];
    }
    return kept;
}

/* Of laws: a changed setting is counted as one. */
static uint64_t count_remarks(const struct tc_findings *findings)
{
    uint64_t n = 0;

    for (size_t i = 0; i < findings->n; i++)
        for (size_t k = 0; findings->items[i].is_remark && k < findings->items[i].n; k++)
            n += !findings->items[i].items[k]->is_setting;
    return n;
}

void tc_report_input_make(struct tc_report_input *input, const struct tc_check_config *config,
                          const struct tc_engine *engine, const struct tc_strtab *symbols,
                          const struct tc_suppressions *suppressions,
                          struct tc_departures *departures, struct tc_notes *notes,
                          struct tc_check_result *result)
{
    size_t n, kept;
    struct tc_violation **violations = tc_engine_violations(engine, &n);

    *input = (struct tc_report_input){.config = config,
                                      .result = result,
                                      .engine = engine,
                                      .symbols = symbols,
                                      .notes = notes,
                                      .suppressions = suppressions,
                                      .suppressed = tc_calloc(n + 1, sizeof(*violations))};
    kept = set_apart(suppressions, violations, n, input->suppressed);
    input->n_suppressed = n - kept;
    tc_findings_make(&input->findings, violations, kept, symbols, departures, notes);
    tc_free(violations);
    const char *other = tc_departures_other(departures);
    snprintf(result->other_script, sizeof(result->other_script), "%s", other ? other : "");
    result->n_failed = result->n_passed = result->n_not_triggered = result->n_unchecked = 0;
    result->n_suppressed = result->n_multi_failed = result->n_settings = 0;
    result->n_findings = input->findings.n;
    result->n_remarks = count_remarks(&input->findings);
    result->n_invariants = tc_engine_count(engine);
    for (size_t i = 0; i < result->n_invariants; i++) {
        const struct tc_judgement *j = tc_engine_judgement(engine, i);
        count_verdict(j, reason(suppressions, j->invariant->id), result);
    }
}

void tc_report_input_release(struct tc_report_input *input)
{
    tc_findings_release(&input->findings);
    tc_free(input->suppressed);
    input->suppressed = NULL;
}

/* ---- writing ------------------------------------------------------------------------------- */

static enum tc_status write_report(const struct tc_report *report,
                                   const struct tc_report_input *input, const char *path,
                                   struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status;

    if (report->write)
        return report->write(input, path, err);
    report->print(input, &text);
    status = tc_fs_write(path, text.text ? text.text : "", text.size, err);
    tc_strbuf_release(&text);
    return status;
}

static enum tc_status write_metrics(const struct tc_report_input *input, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status;

    tc_report_metrics(input, &text);
    status = tc_fs_write(input->config->metrics, text.text, text.size, err);
    tc_strbuf_release(&text);
    return status;
}

enum tc_status tc_report_write(const struct tc_report_input *input, struct tc_error *err)
{
    enum tc_status first = TC_OK, status = TC_OK;

    for (size_t i = 0; input->config->output_dir && i < N_REPORTS; i++) {
        bool is_late = reports[i]->write && input->refresh_s; /* reads all traces again */
        if (!reports[i]->file || is_late || !is_wanted(input->config, reports[i]))
            continue;
        char *path = tc_fs_join(input->config->output_dir, reports[i]->file);
        status = write_report(reports[i], input, path, first ? NULL : err);
        first = first ? first : status;
        tc_free(path);
    }
    if (input->config->metrics)
        status = write_metrics(input, first ? NULL : err);
    return first ? first : status;
}

void tc_report_print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    if (input->config->json)
        tc_report_json(input, out);
    else
        tc_report_text(input, out);
}

void tc_report_print_added(const struct tc_report_input *input, struct tc_strbuf *out)
{
    for (size_t i = 0; i < N_REPORTS; i++)
        if (!reports[i]->file && is_wanted(input->config, reports[i]))
            reports[i]->print(input, out);
}
