/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - counts as OpenMetrics text, all of them gauges: node_exporter's textfile collector
 * reads it as well
 *
 * Every sample names its run, as the files of many runs lie in one folder of a collector.
 */
#include "report/report.h"

#include "base/fs.h"
#include <inttypes.h>

/* In a label's quotes. What OpenMetrics does not escape and may steer is shown as "?". */
static void add_label(struct tc_strbuf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            tc_strbuf_addc(out, '\\');
        tc_strbuf_addc(out, c < ' ' || c == 0x7f ? '?' : text[i]);
    }
}

/* run="NAME": the folders of the traces without what is above them, with commas between. */
static void add_run(struct tc_strbuf *out, const struct tc_report_input *input)
{
    const struct tc_check_config *config = input->config;

    tc_strbuf_adds(out, "run=\"");
    for (size_t i = 0; i < config->n_traces; i++) {
        size_t size;
        const char *name = tc_fs_name(config->traces[i], &size);
        if (i)
            tc_strbuf_addc(out, ',');
        add_label(out, name, size);
    }
    tc_strbuf_addc(out, '"');
}

static void add_family(struct tc_strbuf *out, const char *name, const char *help)
{
    tc_strbuf_addf(out, "# HELP traincheck_%s %s\n# TYPE traincheck_%s gauge\n", name, help, name);
}

/* more: a label beside that of the run, with its comma, or "". */
static void add_value(struct tc_strbuf *out, const struct tc_report_input *input, const char *name,
                      const char *more, double value)
{
    tc_strbuf_addf(out, "traincheck_%s{", name);
    add_run(out, input);
    tc_strbuf_addf(out, "%s} %.15g\n", more, value);
}

static void add_sample(struct tc_strbuf *out, const struct tc_report_input *input, const char *name,
                       const char *help, double value)
{
    add_family(out, name, help);
    add_value(out, input, name, "", value);
}

static void add_verdicts(struct tc_strbuf *out, const struct tc_report_input *input)
{
    const struct tc_check_result *r = input->result;
    const struct {
        const char *label;
        uint64_t n;
    } counts[] = {
        {",verdict=\"failed\"",        r->n_failed       },
        {",verdict=\"passed\"",        r->n_passed       },
        {",verdict=\"not_triggered\"", r->n_not_triggered},
        {",verdict=\"unchecked\"",     r->n_unchecked    },
        {",verdict=\"suppressed\"",    r->n_suppressed   },
    };

    add_family(out, "invariants", "Invariants by verdict.");
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        add_value(out, input, "invariants", counts[i].label, (double)counts[i].n);
}

/* Every form, also those that hold: a series that comes and goes cannot be alerted on. */
static void add_relations(struct tc_strbuf *out, const struct tc_report_input *input)
{
    const struct tc_findings *findings = &input->findings;
    const struct tc_relation *relation;
    struct tc_strbuf label = TC_STRBUF_INIT;

    add_family(out, "violations", "Invariants that failed, by relation form.");
    for (size_t i = 0; (relation = tc_relation_judged(i)); i++) {
        uint64_t n = 0;
        for (size_t j = 0; j < findings->n_all; j++)
            n += findings->all[j]->relation == relation;
        tc_strbuf_reset(&label);
        tc_strbuf_addf(&label, ",relation=\"%s\"", relation->name);
        add_value(out, input, "violations", label.text, (double)n);
    }
    tc_strbuf_release(&label);
}

/* The highest step of a rank; -1: none was made. */
static int64_t last_step(const struct tc_run_courses *courses)
{
    int64_t step = -1;

    for (size_t i = 0; courses && i < courses->items.n; i++)
        if (courses->items.items[i].last_step > step)
            step = courses->items.items[i].last_step;
    return step;
}

/* How a run stands that is followed, or stood at its end. */
static void add_standing(struct tc_strbuf *out, const struct tc_report_input *input)
{
    const int64_t step = last_step(input->courses);

    if (step >= 0)
        add_sample(out, input, "step", "The highest step of a rank.", (double)step);
    add_sample(out, input, "running", "1 while the run is followed, 0 of a final report.",
               input->refresh_s > 0);
    if (input->refresh_s)
        add_sample(out, input, "lag_seconds", "How far the check is behind the run.", input->lag_s);
}

void tc_report_metrics(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const struct tc_check_result *r = input->result;
    const struct tc_findings *findings = &input->findings;

    add_verdicts(out, input);
    add_relations(out, input);
    add_sample(out, input, "findings", "Findings, each with the violations of one cause.",
               (double)r->n_findings);
    if (findings->n && findings->all[0]->step >= 0)
        add_sample(out, input, "first_violation_step",
                   "Step of the first violation; absent without one.",
                   (double)findings->all[0]->step);
    add_standing(out, input);
    add_sample(out, input, "records", "Records read.", (double)r->n_records);
    add_sample(out, input, "calls", "Calls read.", (double)r->n_calls);
    add_sample(out, input, "training_steps", "Step windows that held an optimizer step.",
               (double)r->n_windows);
    add_sample(out, input, "trace_damaged", "1 if a part of the trace could not be read.",
               r->damaged);
    tc_strbuf_adds(out, "# EOF\n");
}
