/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_run.c - the whole of a plan's verification: reading, verdict, reports
 */
#include "report/plan_report.h"

#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/pool.h"

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- files --------------------------------------------------------------------------------- */

static void print_summary(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    struct tc_json *summary = tc_plan_summary_to_json(r);

    tc_json_print_pretty(summary, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(summary);
}

static const struct {
    const char *format; /* NULL: written always; html: unless it is not wanted */
    const char *file;   /* NULL: goes to stdout */
    void (*print)(const struct tc_plan_report *r, struct tc_strbuf *out);
} reports[] = {
    {NULL,     "plan_findings.jsonl", tc_plan_report_json  },
    {NULL,     "plan_summary.json",   print_summary        },
    {"html",   "report.html",         tc_plan_report_html  },
    {"sarif",  "report.sarif",        tc_plan_report_sarif },
    {"junit",  "junit.xml",           tc_plan_report_junit },
    {"github", NULL,                  tc_plan_report_github},
};

static bool is_wanted(const struct tc_plan_check_config *c, size_t i)
{
    bool is_wanted =
        !reports[i].format || (!strcmp(reports[i].format, "html") && !c->no_html_report);

    for (size_t k = 0; k < c->n_formats; k++)
        is_wanted = is_wanted || (reports[i].format && !strcmp(c->formats[k], reports[i].format));
    return is_wanted;
}

static enum tc_status write_files(const struct tc_plan_report *r, struct tc_error *err)
{
    const struct tc_plan_check_config *c = r->config;
    enum tc_status status = c->output_dir ? tc_fs_mkdirs(c->output_dir, err) : TC_OK;

    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports) && !status; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        if (!is_wanted(c, i) || (reports[i].file && !c->output_dir))
            continue;
        reports[i].print(r, &text);
        if (!reports[i].file) {
            c->write(c->context, text.text ? text.text : "", text.size);
        } else {
            char *path = tc_fs_join(c->output_dir, reports[i].file);
            status = tc_fs_write(path, text.text ? text.text : "", text.size, err);
            tc_free(path);
        }
        tc_strbuf_release(&text);
    }
    return status;
}

static enum tc_status report(const struct tc_plan_report *r, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (r->config->json)
        tc_plan_report_json(r, &text);
    else
        tc_plan_report_text(r, &text);
    if (text.size)
        r->config->write(r->config->context, text.text, text.size);
    tc_strbuf_release(&text);
    return write_files(r, err);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void count(const struct tc_plan_report *r, struct tc_plan_check_result *result)
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
    uint64_t began = now_ns();
    enum tc_status status = tc_plan_read(&single, config->reference, names, err);

    *result = (struct tc_plan_check_result){0};
    if (!status)
        status = tc_plan_read(&parallel, config->plan, names, err);
    result->world = parallel.world;
    result->n_retargeted = parallel.n_retargeted;
    result->n_ops = parallel.n_ops;
    if (!status)
        status = tc_plan_verify(&single, &parallel, &verify, &verdict, err);
    result->wall_ns = now_ns() - began;
    if (!status) {
        count(&r, result);
        status = report(&r, err);
    }
    tc_plan_verdict_release(&verdict);
    tc_plan_release(&parallel);
    tc_plan_release(&single);
    tc_strtab_free(names);
    return status;
}
