/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_summary.c - violations_summary.json: counts, findings, ranks, runs and notes as one object
 *
 * The order of members is part of what users see. Each function makes one member from the input,
 * which is only read.
 */
#include "report/report.h"

#include <stdio.h>

#include "report/finding_report.h"
#include <traincheck/version.h>

static struct tc_json *counts(const struct tc_check_result *result)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_number(object, "invariants", (double)result->n_invariants);
    tc_json_set_number(object, "findings", (double)result->n_findings);
    tc_json_set_number(object, "failed", (double)result->n_failed);
    tc_json_set_number(object, "settings", (double)result->n_settings);
    tc_json_set_number(object, "remarks", (double)result->n_remarks);
    tc_json_set_number(object, "passed", (double)result->n_passed);
    tc_json_set_number(object, "not_triggered", (double)result->n_not_triggered);
    tc_json_set_number(object, "unchecked", (double)result->n_unchecked);
    tc_json_set_number(object, "suppressed", (double)result->n_suppressed);
    return object;
}

/* What became of the sets that @all stood for. */
static struct tc_json *sets(const struct tc_check_result *result)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < result->n_sets; i++) {
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "name", result->sets[i].name);
        tc_json_set_bool(object, "chosen", result->sets[i].is_chosen);
        tc_json_set_string(object, "why", result->sets[i].why);
        tc_json_append(array, object);
    }
    return array;
}

static void count_one(struct tc_json *object, const char *name)
{
    tc_json_set_number(object, name, tc_json_to_number(tc_json_get(object, name), 0) + 1);
}

static struct tc_json *per_relation(const struct tc_findings *findings)
{
    struct tc_json *object = tc_json_object();

    for (size_t i = 0; i < findings->n_all; i++)
        count_one(object, findings->all[i]->relation->name);
    return object;
}

/* A violation counts on each rank on which it was met. */
static struct tc_json *per_rank(const struct tc_findings *findings)
{
    struct tc_json *object = tc_json_object();
    char name[32];

    for (size_t i = 0; i < findings->n_all; i++) {
        const struct tc_violation *v = findings->all[i];
        for (size_t j = 0; j < v->n_ranks; j++) {
            snprintf(name, sizeof(name), "%lld", (long long)v->ranks[j]);
            count_one(object, name);
        }
    }
    return object;
}

static struct tc_json *findings(const struct tc_report_input *input)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < input->findings.n; i++)
        tc_json_append(array, tc_finding_to_json(&input->findings.items[i], i + 1));
    return array;
}

static struct tc_json *suppressed(const struct tc_report_input *input)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < input->n_suppressed; i++) {
        const struct tc_violation *v = input->suppressed[i];
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "id", v->invariant->id);
        tc_json_set_string(object, "reason",
                           tc_suppressions_reason(input->suppressions, v->invariant->id));
        tc_json_set_number(object, "count", (double)v->count);
        tc_json_append(array, object);
    }
    return array;
}

static struct tc_json *notes(const struct tc_notes *all)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < tc_notes_count(all); i++) {
        const struct tc_note *note = tc_notes_get(all, i);
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "code", note->code);
        tc_json_set_string(object, "file", note->file);
        if (note->line)
            tc_json_set_number(object, "line", (double)note->line);
        tc_json_set_number(object, "count", (double)note->count);
        tc_json_set_string(object, "text", note->text);
        tc_json_append(array, object);
    }
    return array;
}

static struct tc_json *runs(const struct tc_report_input *input)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < input->config->n_traces; i++) {
        const struct tc_report_run *run = &input->runs[i];
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "trace", input->config->traces[i]);
        tc_json_set_number(object, "records", (double)run->n_records);
        tc_json_set_number(object, "calls", (double)run->n_calls);
        tc_json_set_number(object, "windows", (double)run->n_windows);
        tc_json_set_number(object, "exit", run->exit_status);
        tc_json_append(array, object);
    }
    return array;
}

struct tc_json *tc_summary_to_json(const struct tc_report_input *input)
{
    const struct tc_check_config *config = input->config;
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "traincheck", "violations summary");
    tc_json_set_number(object, "schema", TC_VIOLATION_SCHEMA);
    tc_json_set_string(object, "made_by", "traincheck-check " TC_VERSION);
    if (config->command_line)
        tc_json_set_string(object, "command", config->command_line);
    tc_json_set(object, "traces", tc_json_strings(config->traces, config->n_traces));
    tc_json_set(object, "invariant_files",
                tc_json_strings(config->invariants, config->n_invariants));
    if (input->result->n_sets)
        tc_json_set(object, "sets", sets(input->result));
    tc_json_set(object, "counts", counts(input->result));
    if (input->findings.n && input->findings.all[0]->step >= 0)
        tc_json_set_number(object, "first_step", (double)input->findings.all[0]->step);
    tc_json_set(object, "findings", findings(input));
    tc_json_set(object, "failed_per_relation", per_relation(&input->findings));
    tc_json_set(object, "failed_per_rank", per_rank(&input->findings));
    tc_json_set(object, "suppressed", suppressed(input));
    tc_json_set_number(object, "records", (double)input->result->n_records);
    tc_json_set_number(object, "calls", (double)input->result->n_calls);
    tc_json_set_number(object, "windows", (double)input->result->n_windows);
    tc_json_set(object, "runs", runs(input));
    tc_json_set_bool(object, "damaged", input->result->damaged);
    tc_json_set(object, "notes", notes(input->notes));
    return object;
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    struct tc_json *object = tc_summary_to_json(input);

    tc_json_print_pretty(object, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(object);
}

const struct tc_report tc_report_summary = {
    .file = "violations_summary.json",
    .print = print,
};
