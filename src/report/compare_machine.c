/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_machine.c - the comparison for programs: JSON Lines, code scanning, pull requests
 *
 * The keys are those of docs/comparison-format.md. SARIF and GitHub get only differences that
 * count and are on the first screen.
 */
#include "report/compare_report.h"

#include <string.h>

#include "base/safe.h"
#include "replay/symbols.h"
#include "report/report.h"
#include "report/sarif_parts.h"
#include <traincheck/version.h>

/* ---- JSON ---------------------------------------------------------------------------------- */

static const char *const asides[] = {
    [TC_ASIDE_NO] = NULL,
    [TC_ASIDE_HEALTHY] = "healthy",
    [TC_ASIDE_DATA] = "data",
    [TC_ASIDE_RANKS] = "ranks",
    [TC_ASIDE_RESUMED] = "resumed",
    [TC_ASIDE_DRAWN] = "seed",
    [TC_ASIDE_SILENT] = "no effect",
};

static void set_text(struct tc_json *object, const char *key, const char *text)
{
    if (text && *text)
        tc_json_set_string(object, key, text);
}

static void set_call(const struct tc_comparison *c, struct tc_json *object, const char *key,
                     uint32_t site)
{
    if (site != TC_NO_SITE)
        tc_json_set_string(object, key, tc_strtab_text(c->symbols, c->sites.items.items[site].fn));
}

static void set_line(struct tc_json *object, const char *key, const struct tc_script *script,
                     size_t line)
{
    struct tc_strbuf at = TC_STRBUF_INIT;

    if (!script)
        return;
    tc_strbuf_addf(&at, "%s:%zu", script->at, line + 1);
    tc_json_set_string(object, key, at.text);
    tc_strbuf_release(&at);
}

static struct tc_json *difference_to_json(const struct tc_compare_report *r, size_t i)
{
    const struct tc_comparison *c = r->comparison;
    const struct tc_difference *d = r->order[i];
    struct tc_json *object = tc_json_object();
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_compare_sentence(c, d, &text);
    tc_json_set_string(object, "kind", tc_difference_word(d->kind));
    tc_json_set_string(object, "what", tc_difference_what_word(d->what));
    tc_json_set_string(object, "text", text.text);
    set_text(object, "at", tc_compare_at_run(c, d));
    set_text(object, "at_reference", tc_compare_at_reference(c, d));
    set_line(object, "origin", d->edited.script_b, d->edited.line_b);
    set_line(object, "origin_reference", d->edited.script_a, d->edited.line_a);
    if (d->edited.is_guess)
        tc_json_set_bool(object, "origin_is_guess", true);
    set_call(c, object, "call", d->site_b);
    set_call(c, object, "call_reference", d->site_a);
    if (d->path != TC_SYM_EMPTY)
        set_text(object, "path", tc_strtab_text(c->symbols, d->path));
    set_text(object, "was", d->was);
    set_text(object, "is", d->is);
    if (d->step >= 0)
        tc_json_set_number(object, "step", (double)d->step);
    set_text(object, "stage", tc_strtab_text(c->symbols, d->stage));
    tc_json_set_number(object, "rank", (double)d->rank);
    if (d->is_worker)
        tc_json_set_bool(object, "worker", true);
    tc_json_set_number(object, "times", (double)d->n);
    tc_json_set_bool(object, "shown", r->is_shown[i]);
    if (d->aside)
        tc_json_set_string(object, "set_aside", asides[d->aside]);
    tc_strbuf_release(&text);
    return object;
}

static struct tc_json *counts_to_json(const struct tc_compare_report *r)
{
    struct tc_json *kinds = tc_json_object();

    for (int kind = 0; kind < TC_N_DIFFERENCE_KINDS; kind++) {
        double n = 0;
        for (size_t i = 0; i < r->n; i++)
            n += (int)r->order[i]->kind == kind && !r->order[i]->aside;
        tc_json_set_number(kinds, tc_difference_word((enum tc_difference_kind)kind), n);
    }
    return kinds;
}

static struct tc_json *scripts_to_json(const struct tc_comparison *c)
{
    struct tc_json *array = tc_json_array();
    size_t n;
    struct tc_file_pair *pairs = tc_compare_files(c, &n);

    for (size_t i = 0; i < n; i++) {
        struct tc_json *object = tc_json_object();
        if (pairs[i].b)
            tc_json_set_string(object, "at", pairs[i].b->at);
        if (pairs[i].a)
            tc_json_set_string(object, "at_reference", pairs[i].a->at);
        if (pairs[i].a && pairs[i].b) {
            tc_json_set_number(object, "lines_gone", (double)tc_script_n_changed(pairs[i].a));
            tc_json_set_number(object, "lines_new", (double)tc_script_n_changed(pairs[i].b));
        }
        tc_json_append(array, object);
    }
    tc_free(pairs);
    return array;
}

struct tc_json *tc_compare_summary_to_json(const struct tc_compare_report *r)
{
    const struct tc_comparison *c = r->comparison;
    struct tc_json *summary = tc_json_object();
    int64_t parted = -1;

    for (size_t i = 0; i < c->pairs.n; i++)
        if (c->pairs.items[i].has_parted && (parted < 0 || c->pairs.items[i].parted_step < parted))
            parted = c->pairs.items[i].parted_step;
    tc_json_set_string(summary, "kind", "summary");
    tc_json_set_number(summary, "schema", TC_COMPARISON_SCHEMA);
    tc_json_set_string(summary, "run", c->run.name);
    tc_json_set_string(summary, "against", c->reference.name);
    if (c->resumed_at >= 0)
        tc_json_set_number(summary, "resumed_at", (double)c->resumed_at);
    tc_json_set_number(summary, "healthy_runs", (double)(c->healthy.n + 1));
    tc_json_set(summary, "differences", counts_to_json(r));
    tc_json_set_number(summary, "counted", (double)r->result->n_differences);
    tc_json_set_number(summary, "set_aside", (double)r->result->n_set_aside);
    if (c->differences.n_dropped)
        tc_json_set_number(summary, "not_kept", (double)c->differences.n_dropped);
    if (c->n_parts_of_ranks)
        tc_json_set_number(summary, "not_compared_variables", (double)c->n_parts_of_ranks);
    tc_json_set(summary, "sources", scripts_to_json(c));
    if (parted >= 0)
        tc_json_set_number(summary, "values_part_in_step", (double)parted);
    if (parted >= 0 && c->closeness.is_known && c->closeness.near_until >= parted)
        tc_json_set_number(summary, "equal_to_rounding_until", (double)c->closeness.near_until);
    tc_json_set_number(summary, "windows", (double)r->result->n_windows);
    tc_json_set_number(summary, "calls", (double)r->result->n_calls);
    return summary;
}

void tc_compare_report_json(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    for (size_t i = 0; i < r->n; i++)
        tc_json_print_line(difference_to_json(r, i), out);
    tc_json_print_line(tc_compare_summary_to_json(r), out);
}

/* ---- SARIF and GitHub: what counts and is shown --------------------------------------------- */

static bool is_reported(const struct tc_compare_report *r, size_t i)
{
    return r->is_shown[i] && !r->order[i]->aside;
}

static struct tc_json *result_to_json(const struct tc_compare_report *r, size_t i)
{
    const struct tc_difference *d = r->order[i];
    struct tc_json *result = tc_json_object();
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_compare_sentence(r->comparison, d, &text);
    tc_json_set_string(result, "ruleId", tc_difference_word(d->kind));
    tc_json_set_string(result, "level", "warning");
    tc_json_set(result, "message", tc_sarif_message(text.text));
    tc_json_set(result, "locations", tc_sarif_locations(tc_compare_at(r->comparison, d)));
    tc_strbuf_release(&text);
    return result;
}

void tc_compare_report_sarif(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    struct tc_json *driver = tc_json_object(), *results = tc_json_array();

    tc_json_set_string(driver, "name", "traincheck");
    for (size_t i = 0; i < r->n; i++)
        if (is_reported(r, i))
            tc_json_append(results, result_to_json(r, i));
    tc_sarif_print(driver, results, out);
}

void tc_compare_report_github(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct tc_difference *d = r->order[i];
        struct tc_strbuf path = TC_STRBUF_INIT, text = TC_STRBUF_INIT;
        int64_t line;
        if (!is_reported(r, i))
            continue;
        tc_strbuf_adds(out, "::warning ");
        if (tc_report_location(tc_compare_at(r->comparison, d), &path, &line)) {
            tc_strbuf_adds(out, "file=");
            tc_safe_add(out, TC_SAFE_GITHUB_PROPERTY, path.text, path.size);
            tc_strbuf_addf(out, ",line=%lld,", (long long)line);
        }
        tc_strbuf_addf(out, "title=TrainCheck %s::", tc_difference_word(d->kind));
        tc_compare_sentence(r->comparison, d, &text);
        tc_safe_add(out, TC_SAFE_GITHUB, text.text, text.size);
        tc_strbuf_addc(out, '\n');
        tc_strbuf_release(&path);
        tc_strbuf_release(&text);
    }
}
