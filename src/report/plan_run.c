/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_run.c - the whole of a plan's verification: reading, verdict, reports
 *
 * Both plans are read, verified, and reported to the terminal and to files. What cannot be
 * compared is an error; a wrong job is a result.
 */
#include "report/plan_report.h"

#include "base/clock.h"
#include "base/pool.h"
#include "report/report_files.h"

/* ---- files --------------------------------------------------------------------------------- */

static void print_summary(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    struct tc_json *summary = tc_plan_summary_to_json(r);

    tc_json_print_pretty(summary, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(summary);
}

static void print_stdout(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    (r->config->json ? tc_plan_report_json : tc_plan_report_text)(r, out);
}

static const struct tc_report_file files[] = {
    {NULL,     NULL                 },
    {NULL,     "plan_findings.jsonl"},
    {NULL,     "plan_summary.json"  },
    {"html",   "report.html"        },
    {"sarif",  "report.sarif"       },
    {"junit",  "junit.xml"          },
    {"github", NULL                 },
};

static void print_file(const void *report, size_t i, struct tc_strbuf *out)
{
    static void (*const print[])(const struct tc_plan_report *r, struct tc_strbuf *out) = {
        print_stdout,         tc_plan_report_json,  print_summary,         tc_plan_report_html,
        tc_plan_report_sarif, tc_plan_report_junit, tc_plan_report_github,
    };

    print[i](report, out);
}

static enum tc_status report(const struct tc_plan_report *r, struct tc_error *err)
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

static void count_findings(const struct tc_plan_report *r, struct tc_plan_check_result *result)
{
    result->answer = (enum tc_plan_answer)r->verdict->outcome;
    result->n_results = r->verdict->results.n;
    result->n_differ = r->verdict->n_wrong;
    result->n_verified = r->verdict->n_verified;
    result->error_bits = r->verdict->error_bits;
}

enum tc_status tc_plan_check(const struct tc_plan_check_config *config,
                             struct tc_plan_check_result *result, struct tc_error *err)
{
    struct tc_verify_config verify = {.seeds = config->seeds ? config->seeds : 2,
                                      .most_seeds = config->seeds ? config->seeds : 16,
                                      .error_bits = 80,
                                      .threads = config->jobs ? config->jobs : tc_pool_cores(),
                                      .explain = true,
                                      .progress = config->progress,
                                      .context = config->context};
    struct tc_strtab *names = tc_strtab_new();
    struct tc_plan_set single = {0}, parallel = {0};
    struct tc_plan_verdict verdict = {0};
    struct tc_plan_report r = {config, result, &single, &parallel, &verdict};
    uint64_t began = tc_clock_ns();
    enum tc_status status = tc_plan_read(&single, config->reference, names, err);

    *result = (struct tc_plan_check_result){0};
    if (!status)
        status = tc_plan_read(&parallel, config->plan, names, err);
    result->world = parallel.world;
    result->n_retargeted = parallel.n_retargeted;
    result->n_ops = parallel.n_ops;
    if (!status)
        status = tc_plan_verify(&single, &parallel, &verify, &verdict, err);
    result->wall_ns = tc_clock_ns() - began;
    if (!status) {
        count_findings(&r, result);
        status = report(&r, err);
    }
    tc_plan_verdict_release(&verdict);
    tc_plan_release(&parallel);
    tc_plan_release(&single);
    tc_strtab_free(names);
    return status;
}
