#include "report/report.h"

#include "base/banned.h"
#include <traincheck/version.h>

static struct tc_json *strings(const char *const *items, size_t n)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < n; i++)
        tc_json_append(array, tc_json_string(items[i]));
    return array;
}

static struct tc_json *counts(const struct tc_check_result *result)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_number(object, "invariants", (double)result->n_invariants);
    tc_json_set_number(object, "failed", (double)result->n_failed);
    tc_json_set_number(object, "passed", (double)result->n_passed);
    tc_json_set_number(object, "not_triggered", (double)result->n_not_triggered);
    tc_json_set_number(object, "unchecked", (double)result->n_unchecked);
    return object;
}

static struct tc_json *per_relation(const struct tc_report_input *input)
{
    struct tc_json *object = tc_json_object();

    for (size_t i = 0; i < input->n_violations; i++) {
        const char *name = input->violations[i]->relation->name;
        double n = tc_json_to_number(tc_json_get(object, name), 0);
        tc_json_set_number(object, name, n + 1);
    }
    return object;
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

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const struct tc_check_config *config = input->config;
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "traincheck", "violations summary");
    tc_json_set_number(object, "schema", TC_VIOLATION_SCHEMA);
    tc_json_set_string(object, "made_by", "traincheck-check " TC_VERSION);
    if (config->command_line)
        tc_json_set_string(object, "command", config->command_line);
    tc_json_set(object, "traces", strings(config->traces, config->n_traces));
    tc_json_set(object, "invariant_files", strings(config->invariants, config->n_invariants));
    tc_json_set(object, "counts", counts(input->result));
    if (input->n_violations && input->violations[0]->step >= 0)
        tc_json_set_number(object, "first_step", (double)input->violations[0]->step);
    tc_json_set(object, "failed_per_relation", per_relation(input));
    tc_json_set_number(object, "records", (double)input->result->n_records);
    tc_json_set_number(object, "calls", (double)input->result->n_calls);
    tc_json_set_number(object, "windows", (double)input->result->n_windows);
    tc_json_set_bool(object, "damaged", input->result->damaged);
    tc_json_set(object, "notes", notes(input->notes));
    tc_json_print_pretty(object, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(object);
}

const struct tc_report tc_report_summary = {"violations_summary.json", print};
