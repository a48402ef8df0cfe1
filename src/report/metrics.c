/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - counts as OpenMetrics text, all of them gauges: node_exporter's textfile collector
 * reads it as well
 */
#include "report/report.h"

#include <inttypes.h>

static void add_family(struct tc_strbuf *out, const char *name, const char *help)
{
    tc_strbuf_addf(out, "# HELP traincheck_%s %s\n# TYPE traincheck_%s gauge\n", name, help, name);
}

static void add_sample(struct tc_strbuf *out, const char *name, const char *help, uint64_t value)
{
    add_family(out, name, help);
    tc_strbuf_addf(out, "traincheck_%s %" PRIu64 "\n", name, value);
}

static void add_verdicts(struct tc_strbuf *out, const struct tc_check_result *r)
{
    const struct {
        const char *verdict;
        uint64_t n;
    } counts[] = {
        {"failed",        r->n_failed       },
        {"passed",        r->n_passed       },
        {"not_triggered", r->n_not_triggered},
        {"unchecked",     r->n_unchecked    },
        {"suppressed",    r->n_suppressed   },
    };

    add_family(out, "invariants", "Invariants by verdict.");
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        tc_strbuf_addf(out, "traincheck_invariants{verdict=\"%s\"} %" PRIu64 "\n",
                       counts[i].verdict, counts[i].n);
}

/* Every form, also those that hold: a series that comes and goes cannot be alerted on. */
static void add_relations(struct tc_strbuf *out, const struct tc_findings *findings)
{
    const struct tc_relation *relation;

    add_family(out, "violations", "Invariants that failed, by relation form.");
    for (size_t i = 0; (relation = tc_relation_judged(i)); i++) {
        uint64_t n = 0;
        for (size_t j = 0; j < findings->n_all; j++)
            n += findings->all[j]->relation == relation;
        tc_strbuf_addf(out, "traincheck_violations{relation=\"%s\"} %" PRIu64 "\n", relation->name,
                       n);
    }
}

void tc_report_metrics(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const struct tc_check_result *r = input->result;
    const struct tc_findings *findings = &input->findings;

    add_verdicts(out, r);
    add_relations(out, findings);
    add_sample(out, "findings", "Findings, each with the violations of one cause.", r->n_findings);
    if (findings->n && findings->all[0]->step >= 0)
        add_sample(out, "first_violation_step", "Step of the first violation; absent without one.",
                   (uint64_t)findings->all[0]->step);
    add_sample(out, "records", "Records read.", r->n_records);
    add_sample(out, "calls", "Calls read.", r->n_calls);
    add_sample(out, "training_steps", "Step windows that held an optimizer step.", r->n_windows);
    add_sample(out, "trace_damaged", "1 if a part of the trace could not be read.", r->damaged);
    tc_strbuf_adds(out, "# EOF\n");
}
