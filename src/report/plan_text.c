/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_text.c - the verdict on a plan as a person reads it in a terminal, and as JSON Lines
 *
 * Findings with their places, ranks, the bound on an error, and notes. The JSON has the same
 * findings.
 */
#include "report/plan_report.h"

#include <string.h>

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define RESET "\033[0m"

static void paint(const struct tc_plan_report *r, struct tc_strbuf *out, const char *code)
{
    if (r->config->color)
        tc_strbuf_adds(out, code);
}

/* "train.py:51: " of "train.py:51, in forward" */
static void add_place(const struct tc_plan_report *r, const struct tc_plan_finding *f,
                      struct tc_strbuf *out)
{
    const char *comma = strstr(f->src, ", in ");
    size_t n = comma ? (size_t)(comma - f->src) : strlen(f->src);

    if (!n)
        return;
    paint(r, out, BOLD);
    tc_strbuf_addf(out, "%.*s", (int)n, f->src);
    paint(r, out, RESET);
    tc_strbuf_adds(out, ": ");
}

static void add_indented(struct tc_strbuf *out, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        tc_strbuf_addf(out, "    %.*s\n", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

static void add_finding(const struct tc_plan_report *r, const struct tc_plan_finding *f,
                        struct tc_strbuf *out)
{
    add_place(r, f, out);
    paint(r, out, RED);
    tc_strbuf_adds(out, f->text);
    paint(r, out, RESET);
    tc_strbuf_addc(out, '\n');
    add_indented(out, f->details);
    if (*f->hint)
        tc_strbuf_addf(out, "    hint: %s\n", f->hint);
}

static void add_ranks(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    if (r->parallel->world == 1)
        tc_strbuf_adds(out, "rank 0");
    else
        tc_strbuf_addf(out, "ranks 0-%u", r->parallel->world - 1);
    tc_strbuf_adds(out, " \xc2\xb7 ");
}

static const char *const laws_in_words[] = {"", "maxima are free", "maxima of two logs by order",
                                            "maxima by order"};
static const char *const laws_names[] = {"none", "free", "logs-ordered", "ordered"};

/* "error < 2^-83, 7 random evaluations" */
void tc_plan_add_bound(const struct tc_plan_verdict *v, struct tc_strbuf *out)
{
    if (v->error_bits)
        tc_strbuf_addf(out, "error < 2^-%u, ", v->error_bits);
    else
        tc_strbuf_adds(out, "no bound of the error, as degrees are too high; ");
    tc_strbuf_addf(out, "%u random evaluation%s", v->n_seeds, v->n_seeds == 1 ? "" : "s");
    if (v->laws != TC_LAWS_NONE)
        tc_strbuf_addf(out, ", by laws of exp and log: %s", laws_in_words[v->laws]);
}

static void add_summary(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    const struct tc_plan_verdict *v = r->verdict;

    add_ranks(r, out);
    if (v->outcome == TC_PLAN_UNJUDGED)
        tc_strbuf_adds(out, "unjudged\n");
    else if (v->outcome == TC_PLAN_REFUTED && !v->n_wrong)
        tc_strbuf_adds(out, "the job cannot run to its end\n");
    else if (v->n_wrong)
        tc_strbuf_addf(out, "%llu of %zu results differ \xc2\xb7 %llu verified",
                       (unsigned long long)v->n_wrong, v->results.n,
                       (unsigned long long)v->n_verified);
    else
        tc_strbuf_addf(out, "%llu results verified", (unsigned long long)v->n_verified);
    if (v->outcome != TC_PLAN_UNJUDGED && (v->n_wrong || v->outcome == TC_PLAN_VERIFIED)) {
        tc_strbuf_adds(out, " (");
        tc_plan_add_bound(v, out);
        tc_strbuf_adds(out, ")\n");
    }
}

static void add_notes(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    for (size_t i = 0; i < r->verdict->warnings.n; i++)
        tc_strbuf_addf(out, "warning: %s\n", r->verdict->warnings.items[i]);
    for (size_t i = 0; i < r->parallel->notes.n; i++)
        tc_strbuf_addf(out, "note: %s\n", r->parallel->notes.items[i]);
    if (r->parallel->n_retargeted)
        tc_strbuf_addf(
            out,
            "note: %u of %u ranks were not captured: each is taken to run the program of "
            "the rank it is like\n",
            r->parallel->n_retargeted, r->parallel->world);
    if (r->parallel->copies.n_distinct < r->parallel->world)
        tc_strbuf_addf(out,
                       "note: %u of %u ranks compute the same as another one, which was evaluated "
                       "for them\n",
                       r->parallel->world - r->parallel->copies.n_distinct, r->parallel->world);
}

void tc_plan_report_text(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    for (size_t i = 0; i < r->verdict->findings.n; i++)
        add_finding(r, &r->verdict->findings.items[i], out);
    if (r->config->quiet && r->verdict->outcome == TC_PLAN_VERIFIED)
        return;
    if (!r->config->quiet)
        add_notes(r, out);
    add_summary(r, out);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void set_text(struct tc_json *object, const char *key, const char *text)
{
    if (*text)
        tc_json_set_string(object, key, text);
}

struct tc_json *tc_plan_finding_to_json(const struct tc_plan_finding *f)
{
    struct tc_json *object = tc_json_object(), *ranks = tc_json_array();

    tc_json_set_string(object, "finding", f->kind);
    tc_json_set_string(object, "text", f->text);
    set_text(object, "result", f->name);
    set_text(object, "axis", f->axis);
    set_text(object, "op", f->op);
    set_text(object, "at", f->src);
    set_text(object, "module", f->mod);
    set_text(object, "hint", f->hint);
    set_text(object, "details", f->details);
    for (uint32_t i = 0; i < f->n_ranks; i++)
        tc_json_append(ranks, tc_json_number(f->ranks[i]));
    tc_json_set(object, "ranks", ranks);
    return object;
}

struct tc_json *tc_plan_summary_to_json(const struct tc_plan_report *r)
{
    static const char *const answers[] = {"verified", "refuted", "unjudged"};
    struct tc_json *object = tc_json_object(), *wrong = tc_json_array();
    const struct tc_plan_verdict *v = r->verdict;

    tc_json_set_string(object, "verdict", answers[v->outcome]);
    tc_json_set_string(object, "plan", r->parallel->folder);
    tc_json_set_string(object, "reference", r->single->folder);
    tc_json_set_number(object, "world", r->parallel->world);
    tc_json_set_number(object, "retargeted", r->parallel->n_retargeted);
    tc_json_set_number(object, "evaluated", r->parallel->copies.n_distinct);
    tc_json_set_number(object, "operators", (double)r->result->n_ops);
    tc_json_set_number(object, "results", (double)v->results.n);
    tc_json_set_number(object, "differ", (double)v->n_wrong);
    tc_json_set_number(object, "verified", (double)v->n_verified);
    tc_json_set_number(object, "seeds", v->n_seeds);
    tc_json_set_number(object, "error_bits", v->error_bits);
    tc_json_set_string(object, "laws", laws_names[v->laws]);
    for (size_t i = 0; i < v->results.n; i++)
        if (v->results.items[i].is_wrong || v->results.items[i].is_missing)
            tc_json_append(
                wrong, tc_json_string(tc_strtab_text(r->single->names, v->results.items[i].name)));
    tc_json_set(object, "wrong", wrong);
    tc_json_set(object, "warnings", tc_json_strings(v->warnings.items, v->warnings.n));
    tc_json_set_number(object, "seconds", (double)r->result->wall_ns / 1e9);
    return object;
}

void tc_plan_report_json(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    for (size_t i = 0; i < r->verdict->findings.n; i++)
        tc_json_print_line(tc_plan_finding_to_json(&r->verdict->findings.items[i]), out);
    tc_json_print_line(tc_plan_summary_to_json(r), out);
}
