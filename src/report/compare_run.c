/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_run.c - the whole of a comparison: reading, differences, reports
 */
#include "report/compare_report.h"

#include <string.h>
#include <time.h>

#include "base/fs.h"

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- files --------------------------------------------------------------------------------- */

static void print_summary(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    struct tc_json *summary = tc_compare_summary_to_json(r);

    tc_json_print_pretty(summary, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(summary);
}

static const struct {
    const char *format; /* NULL: written always; html: unless it is not wanted */
    const char *file;   /* NULL: goes to stdout */
    void (*print)(const struct tc_compare_report *r, struct tc_strbuf *out);
} reports[] = {
    {NULL,     "differences.jsonl",       tc_compare_report_json  },
    {NULL,     "comparison_summary.json", print_summary           },
    {"html",   "report.html",             tc_compare_report_html  },
    {"sarif",  "report.sarif",            tc_compare_report_sarif },
    {"github", NULL,                      tc_compare_report_github},
};

static bool is_wanted(const struct tc_compare_config *c, size_t i)
{
    bool is_wanted =
        !reports[i].format || (!strcmp(reports[i].format, "html") && !c->no_html_report);

    for (size_t k = 0; k < c->n_formats; k++)
        is_wanted = is_wanted || (reports[i].format && !strcmp(c->formats[k], reports[i].format));
    return is_wanted;
}

static enum tc_status write_files(const struct tc_compare_report *r, struct tc_error *err)
{
    const struct tc_compare_config *c = r->config;
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

static enum tc_status report(const struct tc_compare_report *r, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (r->config->json)
        tc_compare_report_json(r, &text);
    else
        tc_compare_report_text(r, &text);
    if (text.size)
        r->config->write(r->config->context, text.text, text.size);
    tc_strbuf_release(&text);
    return write_files(r, err);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void count(const struct tc_comparison *c, struct tc_compare_result *result)
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
    uint64_t began = now_ns();
    enum tc_status status = tc_comparison_make(&comparison, config, notes, err);

    *result = (struct tc_compare_result){0};
    if (!status) {
        struct tc_compare_report r;
        count(&comparison, result);
        tc_compare_report_make(&r, config, result, &comparison);
        status = report(&r, err);
        tc_compare_report_release(&r);
    }
    tc_comparison_release(&comparison);
    result->wall_ns = now_ns() - began;
    return status;
}
