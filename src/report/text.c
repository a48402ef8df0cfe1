/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - violations as a person reads them in a terminal of 80 columns
 *
 * First findings, each with the lines of both scripts and up to two violations, then changed
 * settings. With --verbose all violations follow. Lines are folded for a terminal (fold.h).
 * Colours only if the caller asks for them.
 */
#include "report/report.h"

#include <string.h>

#include "base/fs.h"
#include "invariant/describe.h"
#include "report/compare_report.h"
#include "report/finding_report.h"
#include "report/fold.h"

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define FAINT "\033[2m"
#define RESET "\033[0m"

struct printer {
    struct tc_strbuf *out;
    bool color, names_run;
};

static void paint(const struct printer *p, const char *code)
{
    if (p->color)
        tc_strbuf_adds(p->out, code);
}

static void print_head(const struct printer *p, const struct tc_violation *v)
{
    const char *at = *v->at ? v->at : v->file;

    paint(p, BOLD);
    tc_fold_add(p->out, at, strlen(at));
    paint(p, RESET);
    if (v->step >= 0)
        tc_strbuf_addf(p->out, "  step %lld", (long long)v->step);
    if (v->rank >= 0)
        tc_strbuf_addf(p->out, "  rank %lld", (long long)v->rank);
    if (p->names_run) {
        tc_strbuf_adds(p->out, "  of ");
        tc_fold_add(p->out, v->trace, strlen(v->trace));
    }
    tc_strbuf_adds(p->out, "  ");
    paint(p, RED);
    tc_strbuf_addf(p->out, "%s", v->relation->name);
    paint(p, RESET);
    tc_strbuf_addf(p->out, "  %s\n", v->invariant->id);
}

static const char *unquoted(const char *json, char buf[32])
{
    size_t n = strlen(json);

    if (n < 2 || json[0] != '"' || n - 2 >= 32)
        return json;
    memcpy(buf, json + 1, n - 2);
    buf[n - 2] = '\0';
    return buf;
}

#define SHOWN_VARIABLES 4

/* Of a call that is missing, the variables are those of the call before which it is missed: they
 * say nothing. */
static void print_variables(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    char grad[32];

    if (v->relation->fault == TC_FAULT_MISSING)
        return;
    for (size_t i = 0; i < v->n_variables && i < SHOWN_VARIABLES; i++) {
        const struct tc_violation_variable *x = &v->variables[i];
        tc_strbuf_addf(&text, "%s%s", i ? ", " : "", x->name);
        if (!x->is_setting)
            tc_strbuf_addf(&text, " (requires_grad=%s, grad=%s)",
                           x->requires_grad ? "true" : "false", unquoted(x->grad, grad));
    }
    size_t more = v->n_variables + v->n_more_variables;
    if (more > SHOWN_VARIABLES)
        tc_strbuf_addf(&text, " and %zu more", more - SHOWN_VARIABLES);
    if (text.size)
        tc_fold(p->out, "variables: ", text.text);
    tc_strbuf_release(&text);
}

/* What the loop called before, oldest first; a call that was repeated stands once. */
static void add_before(const struct tc_violation *v, struct tc_strbuf *text)
{
    for (size_t i = 0, next; i < v->n_before; i = next) {
        for (next = i + 1; next < v->n_before; next++)
            if (strcmp(v->before[i].call, v->before[next].call) != 0)
                break;
        tc_strbuf_adds(text, i ? ", " : "");
        tc_describe_call_name(v->before[i].call, text);
        if (next - i > 1)
            tc_strbuf_addf(text, " (%zu times)", next - i);
    }
}

/* The calls around it. */
static void print_inside(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < v->n_inside; i++) {
        tc_strbuf_adds(&text, i ? " > " : "");
        tc_describe_call_name(v->inside[i], &text);
        if (*v->inside_at[i] && strcmp(v->inside_at[i], v->at) != 0)
            tc_strbuf_addf(&text, " at %s", tc_fs_base(v->inside_at[i]));
    }
    if (text.size)
        tc_fold(p->out, "inside:   ", text.text);
    tc_strbuf_release(&text);
}

static void print_before(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    add_before(v, &text);
    if (text.size)
        tc_fold(p->out, "after:    ", text.text);
    tc_strbuf_release(&text);
}

static void print_learned(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!v->invariant->pipelines) /* written by hand */
        return;
    tc_strbuf_addf(&text, "held %llu time%s in %llu pipeline%s",
                   (unsigned long long)v->invariant->held, v->invariant->held == 1 ? "" : "s",
                   (unsigned long long)v->invariant->pipelines,
                   v->invariant->pipelines == 1 ? "" : "s");
    tc_fold(p->out, "learned:  ", text.text);
    tc_strbuf_release(&text);
}

/* Counts are those of all runs together: which these are. */
static void add_runs(const struct tc_violation *v, struct tc_strbuf *text)
{
    uint64_t n = v->n_runs < TC_VIOLATION_RUNS ? v->n_runs : TC_VIOLATION_RUNS;

    if (v->n_runs < 2)
        return;
    tc_strbuf_addf(text, " in %llu runs together: ", (unsigned long long)v->n_runs);
    for (uint64_t i = 0; i < n; i++)
        tc_strbuf_addf(text, "%s%s", i ? ", " : "", v->runs[i]);
    if (n < v->n_runs)
        tc_strbuf_addf(text, " and %llu more", (unsigned long long)(v->n_runs - n));
}

static void print_repeats(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (v->count == 1)
        return;
    tc_strbuf_addf(&text, "(%llu times", (unsigned long long)v->count);
    if (v->n_steps == 1 && v->n_runs == 1)
        tc_strbuf_adds(&text, " in this step");
    else if (v->n_steps > 1)
        tc_strbuf_addf(&text, " until step %lld", (long long)v->last_step);
    add_runs(v, &text);
    tc_strbuf_addc(&text, ')');
    tc_fold(p->out, "", text.text);
    tc_strbuf_release(&text);
}

/* in_full: with the calls before it, and how it was learned. */
static void print_violation(const struct printer *p, const struct tc_violation *v, bool in_full)
{
    print_head(p, v);
    tc_fold(p->out, "expected: ", v->invariant->text);
    tc_fold(p->out, "seen:     ", v->seen);
    tc_fold(p->out, "look at:  ", v->hint);
    paint(p, FAINT);
    print_inside(p, v);
    if (in_full)
        print_before(p, v);
    print_variables(p, v);
    if (in_full)
        print_learned(p, v);
    print_repeats(p, v);
    paint(p, RESET);
}

void tc_report_text_violation(const struct tc_violation *v, bool color, bool names_run,
                              struct tc_strbuf *out)
{
    const struct printer p = {out, color, names_run};

    print_violation(&p, v, true);
}

/* ---- what follows -----------------------------------------------------------------------------
 */

/* " (AA-3f1c22d0, 29 times)" */
static void add_id(const struct tc_violation *v, struct tc_strbuf *text)
{
    tc_strbuf_addf(text, " (%s", v->invariant->id);
    if (v->count > 1)
        tc_strbuf_addf(text, ", %llu times", (unsigned long long)v->count);
    tc_strbuf_addc(text, ')');
}

static void print_told(const struct printer *p, const struct tc_violation *v, const char *label)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_adds(&text, v->seen);
    add_id(v, &text);
    tc_fold(p->out, label, text.text);
    tc_strbuf_release(&text);
}

static void print_rest(const struct printer *p, const struct tc_finding *f)
{
    size_t n = f->n - (f->head != NULL);

    for (size_t i = 0; i < sizeof(f->told) / sizeof(*f->told) && f->told[i]; i++, n--)
        print_told(p, f->told[i], i ? "    " : "so: ");
    if (n)
        tc_strbuf_addf(p->out, "  %zu more broken invariant%s follow%s from this\n", n,
                       n == 1 ? "" : "s", n == 1 ? "s" : "");
}

/* ---- a finding ------------------------------------------------------------------------------ */

/* "train.py:16  optimizer.zero_grad() is no longer called, from step 0 on" */
static void print_title(const struct printer *p, const struct tc_finding *f, const char *before)
{
    struct tc_strbuf text = TC_STRBUF_INIT, at = TC_STRBUF_INIT, label = TC_STRBUF_INIT;

    tc_strbuf_adds(&label, before);
    tc_finding_at(f, &at);
    if (at.size)
        tc_strbuf_addf(&label, "%s  ", tc_fs_base(at.text));
    tc_finding_sentence(f, &text);
    tc_strbuf_adds(&text, ", ");
    tc_finding_when(f, &text);
    if (f->head || f->is_remark)
        add_id(f->head ? f->head : f->items[0], &text);
    if (p->names_run)
        tc_strbuf_addf(&text, ", of %s", f->items[0]->trace);
    tc_fold_behind(p->out, label.text, TC_FOLD_INDENT, text.text);
    tc_strbuf_release(&text);
    tc_strbuf_release(&at);
    tc_strbuf_release(&label);
}

static void print_departure(const struct printer *p, const struct tc_finding *f)
{
    paint(p, BOLD);
    print_title(p, f, "");
    paint(p, RESET);
    tc_compare_print_quote(f->comparison, f->departure, p->color, p->out);
}

/* One line: what is another, and how much follows from it. */
static void print_setting(const struct printer *p, const struct tc_finding *f)
{
    const struct tc_violation *v = f->items[0];
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s (expected: %s)", v->seen, v->invariant->text);
    if (f->n > 1)
        tc_strbuf_addf(&text, "; %zu more follow%s", f->n - 1, f->n == 2 ? "s" : "");
    tc_strbuf_addf(p->out, "  %s  ", v->invariant->id);
    tc_fold_add(p->out, *v->at ? v->at : v->file, strlen(*v->at ? v->at : v->file));
    if (p->names_run) {
        tc_strbuf_adds(p->out, "  of ");
        tc_fold_add(p->out, v->trace, strlen(v->trace));
    }
    tc_strbuf_addc(p->out, '\n');
    tc_fold(p->out, "  ", text.text);
    tc_strbuf_release(&text);
}

static void print_finding(const struct printer *p, const struct tc_finding *f, bool in_full)
{
    if (f->departure)
        print_departure(p, f);
    else
        print_violation(p, f->items[0], in_full);
    print_rest(p, f);
}

void tc_report_text_finding(const struct tc_finding *f, bool color, bool names_run,
                            struct tc_strbuf *out)
{
    const struct printer p = {out, color, names_run};

    print_finding(&p, f, false);
}

static void print_settings(const struct printer *p, const struct tc_findings *findings)
{
    size_t n_laws = findings->n - findings->n_settings;

    if (!findings->n_settings)
        return;
    tc_strbuf_adds(p->out, n_laws ? "\n" : "");
    paint(p, BOLD);
    tc_strbuf_adds(p->out, "changed settings of the script, wrong only if they are not meant:\n");
    paint(p, RESET);
    for (size_t i = n_laws; i < findings->n; i++)
        if (findings->items[i].departure)
            tc_report_text_finding(&findings->items[i], p->color, p->names_run, p->out);
        else
            print_setting(p, &findings->items[i]);
}

/* It was told by its finding. */
static bool leads(const struct tc_findings *findings, const struct tc_violation *v)
{
    for (size_t i = 0; i + findings->n_settings < findings->n; i++)
        if (!findings->items[i].departure && findings->items[i].items[0] == v)
            return true;
    return false;
}

void tc_report_text(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const struct printer p = {out, input->config->color, input->config->n_traces > 1};

    for (size_t i = 0; i < input->findings.n - input->findings.n_settings; i++) {
        const struct tc_finding *f = &input->findings.items[i];
        tc_strbuf_adds(out, i ? "\n" : "");
        if (f->is_remark && !input->config->verbose)
            print_title(&p, f, "also: ");
        else
            print_finding(&p, f, input->config->verbose);
    }
    print_settings(&p, &input->findings);
    for (size_t i = 0; input->config->verbose && i < input->findings.n_all; i++) {
        if (leads(&input->findings, input->findings.all[i]))
            continue;
        tc_strbuf_addc(out, '\n');
        tc_report_text_violation(input->findings.all[i], p.color, p.names_run, out);
    }
}
