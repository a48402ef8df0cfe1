/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonl.c - findings, and their violations, as JSON Lines
 *
 * The keys are those of docs/violation-format.md; a key whose value is not known is absent.
 */
#include "report/report.h"

#include <stdio.h>
#include <time.h>

#include "report/finding_report.h"

static struct tc_json *parsed(const char *json)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_json *node = NULL;

    tc_strbuf_adds(&text, json);
    if (!text.text || tc_json_parse(text.text, text.size, &node, NULL))
        node = tc_json_null();
    tc_strbuf_release(&text);
    return node;
}

static struct tc_json *calls(const struct tc_violation_call *items, size_t n)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < n; i++) {
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "call", items[i].call);
        if (*items[i].at)
            tc_json_set_string(object, "at", items[i].at);
        tc_json_append(array, object);
    }
    return array;
}

static struct tc_json *variables(const struct tc_violation *v)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < v->n_variables; i++) {
        const struct tc_violation_variable *x = &v->variables[i];
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "name", x->name);
        tc_json_set_string(object, "kind", x->kind);
        tc_json_append(array, object);
        if (x->is_setting)
            continue;
        tc_json_set_bool(object, "requires_grad", x->requires_grad);
        tc_json_set(object, "grad", parsed(x->grad));
        tc_json_set(object, "dtype", parsed(x->dtype));
        tc_json_set(object, "shape", parsed(x->shape));
        tc_json_set(object, "owner", parsed(x->owner));
        tc_json_set(object, "training", parsed(x->training));
        if (x->n_attrs)
            tc_json_set(object, "attrs", tc_json_strings(x->attrs, x->n_attrs));
    }
    return array;
}

static struct tc_json *numbers(const int64_t *items, size_t n)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < n; i++)
        tc_json_append(array, tc_json_number((double)items[i]));
    return array;
}

static struct tc_json *situation(const struct tc_violation *v, const struct tc_strtab *symbols)
{
    struct tc_json *object = tc_json_object();

    for (size_t i = 0; i < v->n_situation; i++)
        tc_json_set(object, tc_strtab_text(symbols, v->situation[i].field),
                    parsed(tc_strtab_text(symbols, v->situation[i].value)));
    return object;
}

static struct tc_json *outcome(const struct tc_violation *v, const struct tc_strtab *symbols)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < v->n_outcome && i < TC_VIOLATION_OUTCOME; i++)
        tc_json_append(array, tc_json_string(tc_strtab_text(symbols, v->outcome[i])));
    return array;
}

/* UTC with milliseconds, as in 2026-01-31T12:00:00.250Z. */
static void set_time(struct tc_json *object, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm utc;
    char day[32], text[48];

    if (unix_ns <= 0 || !gmtime_r(&seconds, &utc))
        return;
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, sizeof(text), "%s.%03dZ", day, (int)(unix_ns / 1000000 % 1000));
    tc_json_set_string(object, "time", text);
}

static void set_place(struct tc_json *object, const struct tc_violation *v)
{
    if (*v->at)
        tc_json_set_string(object, "at", v->at);
    if (v->step >= 0)
        tc_json_set_number(object, "step", (double)v->step);
    if (*v->stage)
        tc_json_set_string(object, "stage", v->stage);
    if (v->rank >= 0)
        tc_json_set_number(object, "rank", (double)v->rank);
    set_time(object, v->unix_ns);
    tc_json_set_string(object, "trace", v->trace);
    tc_json_set_string(object, "file", v->file);
    if (*v->call)
        tc_json_set_string(object, "call", v->call);
}

static void set_repeats(struct tc_json *object, const struct tc_violation *v)
{
    tc_json_set_number(object, "count", (double)v->count);
    if (v->n_steps) {
        tc_json_set(object, "steps", numbers(v->steps, v->n_steps));
        tc_json_set_number(object, "last_step", (double)v->last_step);
    }
    if (v->n_ranks)
        tc_json_set(object, "ranks", numbers(v->ranks, v->n_ranks));
    if (v->n_runs > 1)
        tc_json_set(object, "runs",
                    tc_json_strings(v->runs,
                                    v->n_runs < TC_VIOLATION_RUNS ? v->n_runs : TC_VIOLATION_RUNS));
}

/* The lines of the calls around it, innermost first, where they are others than its own. */
static void set_lines(struct tc_json *object, const struct tc_violation *v)
{
    const char **lines = tc_calloc(v->n_inside + 1, sizeof(*lines)), *last = v->at;
    size_t n = 0;

    for (size_t i = v->n_inside; i > 0; i--) {
        const char *line = v->inside_at[i - 1];
        if (!*line || !strcmp(line, last))
            continue;
        last = lines[n++] = line;
    }
    if (n)
        tc_json_set(object, "called_from", tc_json_strings(lines, n));
    tc_free(lines);
}

struct tc_json *tc_violation_to_json(const struct tc_violation *v, const struct tc_strtab *symbols)
{
    struct tc_json *object = tc_json_object();
    struct tc_json *invariant = tc_invariant_to_json(v->invariant, symbols);
    struct tc_json *learned = tc_json_object();

    tc_json_set_string(object, "id", v->invariant->id);
    tc_json_set_string(object, "relation", v->relation->name);
    set_place(object, v);
    tc_json_set_string(object, "expected", v->invariant->text);
    tc_json_set_string(object, "seen", v->seen);
    tc_json_set_string(object, "hint", v->hint);
    if (v->is_setting)
        tc_json_set_bool(object, "setting", true);
    tc_json_set(object, "inside", tc_json_strings(v->inside, v->n_inside));
    set_lines(object, v);
    tc_json_set(object, "before", calls(v->before, v->n_before));
    tc_json_set(object, "variables", variables(v));
    if (v->n_more_variables)
        tc_json_set_number(object, "more_variables", (double)v->n_more_variables);
    set_repeats(object, v);
    tc_json_set_number(learned, "pipelines", (double)v->invariant->pipelines);
    tc_json_set_number(learned, "held", (double)v->invariant->held);
    tc_json_set(object, "learned", learned);
    tc_json_set(object, "params", tc_json_copy(tc_json_get(invariant, "params")));
    tc_json_set(object, "when", tc_json_copy(tc_json_get(invariant, "when")));
    tc_json_set(object, "situation", situation(v, symbols));
    tc_json_set(object, "outcome", outcome(v, symbols));
    tc_json_free(invariant);
    return object;
}

struct tc_json *tc_evidence_to_json(const struct tc_report_input *input, size_t finding, size_t i)
{
    const struct tc_finding *f = &input->findings.items[finding];
    struct tc_json *object = tc_violation_to_json(f->items[i], input->symbols);

    tc_json_set_number(object, "finding", (double)(finding + 1));
    tc_json_set_bool(object, "head", i == 0);
    return object;
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    for (size_t i = 0; i < input->findings.n; i++)
        tc_json_print_line(tc_evidence_to_json(input, i, 0), out);
    for (size_t i = 0; i < input->findings.n; i++)
        for (size_t j = 1; j < input->findings.items[i].n; j++)
            tc_json_print_line(tc_evidence_to_json(input, i, j), out);
}

void tc_report_json(const struct tc_report_input *input, struct tc_strbuf *out)
{
    for (size_t i = 0; i < input->findings.n; i++) {
        tc_json_print_line(tc_finding_to_json(&input->findings.items[i], i + 1), out);
        for (size_t j = 0; j < input->findings.items[i].n; j++)
            tc_json_print_line(tc_evidence_to_json(input, i, j), out);
    }
}

static void print_findings(const struct tc_report_input *input, struct tc_strbuf *out)
{
    for (size_t i = 0; i < input->findings.n; i++)
        tc_json_print_line(tc_finding_to_json(&input->findings.items[i], i + 1), out);
}

const struct tc_report tc_report_findings = {
    .file = "findings.jsonl",
    .print = print_findings,
};

const struct tc_report tc_report_violations = {
    .file = "violations.jsonl",
    .print = print,
};
