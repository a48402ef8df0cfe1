/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_run.c - the whole of a comparison: reading, differences, reports
 */
#include "report/compare_report.h"

#include "base/clock.h"
#include "compare/edit_guess.h"
#include "report/report_files.h"

/* ---- files --------------------------------------------------------------------------------- */

static void print_summary(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    struct tc_json *summary = tc_compare_summary_to_json(r);

    tc_json_print_pretty(summary, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(summary);
}

static void print_stdout(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    (r->config->json ? tc_compare_report_json : tc_compare_report_text)(r, out);
}

static const struct tc_report_file files[] = {
    {NULL,     NULL                     },
    {NULL,     "differences.jsonl"      },
    {NULL,     "comparison_summary.json"},
    {"html",   "report.html"            },
    {"sarif",  "report.sarif"           },
    {"github", NULL                     },
};

static void print_file(const void *report, size_t i, struct tc_strbuf *out)
{
    static void (*const print[])(const struct tc_compare_report *r, struct tc_strbuf *out) = {
        print_stdout,           tc_compare_report_json,  print_summary,
        tc_compare_report_html, tc_compare_report_sarif, tc_compare_report_github,
    };

    print[i](report, out);
}

static enum tc_status report(const struct tc_compare_report *r, struct tc_error *err)
{
    const struct tc_report_target target = {
        .output_dir = r->config->output_dir,
        .formats = r->config->formats,
        .n_formats = r->config->n_formats,
        .no_html_report = r->config->no_html_report,
        .write = r->config->write,
        .context = r->config->context,
    };

    return tc_report_files_write(files, sizeof(files) / sizeof(*files), &target, print_file, r,
                                 err);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void count_differences(const struct tc_comparison *c, struct tc_compare_result *result)
{
    result->n_differences = c->n_counted;
    result->n_set_aside = c->differences.items.n - c->n_counted;
    for (size_t i = 0; i < c->pairs.n; i++) {
        result->n_windows += c->pairs.items[i].n_windows;
        result->n_calls += c->pairs.items[i].n_calls;
    }
    result->json_bytes = c->reference.json_bytes + c->run.json_bytes;
}

enum tc_status tc_compare_run(const struct tc_compare_config *config,
                              struct tc_compare_result *result, struct tc_notes *notes,
                              struct tc_error *err)
{
    struct tc_comparison comparison;
    uint64_t began = tc_clock_ns();
    enum tc_status status = tc_comparison_make(&comparison, config, notes, err);

    *result = (struct tc_compare_result){0};
    if (!status) {
        struct tc_compare_report r;
        tc_edit_guess(&comparison);
        count_differences(&comparison, result);
        tc_compare_report_make(&r, config, result, &comparison);
        status = report(&r, err);
        tc_compare_report_release(&r);
    }
    tc_comparison_release(&comparison);
    result->wall_ns = tc_clock_ns() - began;
    return status;
}
