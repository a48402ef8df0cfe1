/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_html.c - the comparison as a page
 *
 * First what leads, with the lines of both scripts, then a section for each kind, then the
 * sources. Long lists are folded and counted. Text of traces goes through tc_safe_add().
 */
#include "report/compare_page.h"

#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "base/safe.h"
#include "base/utf8.h"
#include "report/html/parts.h"
#include <traincheck/version.h>

/* Differences are listed, with lines, as long as there is room; then the sources get the rest. */
#define MAX_LISTED    300 /* of a kind, and as many that are set aside */
#define MAX_WITH_CODE 40
#define MAX_OPEN      5
#define MAX_TEXT      600 /* bytes of a sentence, a name, a value */
#define LIST_SIZE     2200000
#define SOURCES_SIZE  2700000

struct page {
    const struct tc_compare_report *r;
    struct tc_strbuf *out;
};

void tc_page_add(struct tc_strbuf *out, const char *text, size_t size, size_t max)
{
    const bool is_cut = size > max;

    while (is_cut && max && ((unsigned char)text[max] & 0xc0) == 0x80)
        max--;
    tc_safe_add(out, TC_SAFE_XML, text, is_cut ? max : size);
    if (is_cut)
        tc_strbuf_adds(out, "\xe2\x80\xa6");
}

static void add_html(const struct page *p, const char *html)
{
    tc_strbuf_adds(p->out, html);
}

static void add_text(const struct page *p, const char *text)
{
    tc_page_add(p->out, text, strlen(text), MAX_TEXT);
}

/* ---- what is compared ---------------------------------------------------------------------- */

static void begin_row(const struct page *p, const char *name)
{
    tc_strbuf_addf(p->out, "<tr><th scope=\"row\">%s</th>", name);
}

static void add_texts(const struct page *p, const char *name, const char *of_a, const char *of_b)
{
    begin_row(p, name);
    add_html(p, "<td>");
    add_text(p, of_a);
    add_html(p, "</td><td>");
    add_text(p, of_b);
    add_html(p, "</td></tr>\n");
}

static void add_counts(const struct page *p, const char *name, uint64_t of_a, uint64_t of_b)
{
    begin_row(p, name);
    tc_strbuf_addf(p->out, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td></tr>\n", of_a, of_b);
}

static const char *program_of(const struct tc_outline *run)
{
    return run->scripts.items.n ? run->scripts.items.items[0]->at : "not in this trace";
}

/* Options as they were given, or versions and how calls were recorded. */
static void add_settings(const struct page *p, const struct tc_outline *run, bool is_option)
{
    bool is_any = false;

    add_html(p, "<td>");
    for (size_t i = 0; i < run->settings.n; i++) {
        const struct tc_outline_setting *s = &run->settings.items[i];
        if (s->is_option != is_option || s->is_recording)
            continue;
        add_html(p, is_any ? is_option ? " " : ", " : "");
        is_any = true;
        if (!is_option || s->name[0] == '-') {
            add_text(p, s->name);
            add_html(p, " ");
        }
        if (!is_option || strcmp(s->value, "given") != 0)
            add_text(p, s->value);
    }
    add_html(p, is_any ? "</td>" : "none</td>");
}

static void add_setting_row(const struct page *p, const char *name, bool is_option)
{
    const struct tc_comparison *c = p->r->comparison;

    begin_row(p, name);
    add_settings(p, &c->reference, is_option);
    add_settings(p, &c->run, is_option);
    add_html(p, "</tr>\n");
}

static void add_compared(const struct page *p)
{
    const struct tc_comparison *c = p->r->comparison;
    const struct tc_compare_result *result = p->r->result;
    uint64_t alone = 0;

    for (size_t i = 0; i < c->pairs.n; i++)
        alone += c->pairs.items[i].only_a + c->pairs.items[i].only_b;
    tc_strbuf_addf(p->out,
                   "<p class=\"faint\">%" PRIu64 " windows and %" PRIu64
                   " calls stand beside each other",
                   result->n_windows, result->n_calls);
    if (alone)
        tc_strbuf_addf(p->out, "; %" PRIu64 " windows have no like in the other run", alone);
    if (c->unpaired_a + c->unpaired_b)
        tc_strbuf_addf(p->out, "; %zu process%s no like", c->unpaired_a + c->unpaired_b,
                       c->unpaired_a + c->unpaired_b == 1 ? " has" : "es have");
    add_html(p, ". A window is a step, or what stands between steps.");
    for (size_t i = 0; i < c->healthy.n; i++) {
        add_html(p, i ? ", " : " What differs between healthy runs, too, is set aside: ");
        add_text(p, c->healthy.items[i].name);
        add_html(p, i + 1 == c->healthy.n ? "." : "");
    }
    add_html(p, "</p>\n");
}

static void add_runs(const struct page *p)
{
    const struct tc_comparison *c = p->r->comparison;

    add_html(
        p, "<h1>Two runs side by side</h1>\n<div class=\"scroll\"><table class=\"runs\"><thead><tr>"
           "<td></td><th scope=\"col\">Reference</th><th scope=\"col\">This run</th></tr></thead>"
           "<tbody>\n");
    add_texts(p, "trace", c->reference.name, c->run.name);
    add_texts(p, "script", program_of(&c->reference), program_of(&c->run));
    add_setting_row(p, "arguments", true);
    add_setting_row(p, "versions", false);
    add_counts(p, "ranks", (uint64_t)c->reference.world, (uint64_t)c->run.world);
    add_counts(p, "calls", c->reference.n_calls, c->run.n_calls);
    add_counts(p, "windows", c->reference.n_windows, c->run.n_windows);
    add_html(p, "</tbody></table></div>\n");
    add_compared(p);
    if (c->resumed_at >= 0)
        tc_strbuf_addf(
            p->out,
            "<p class=\"note\">The run goes on at step %" PRId64 " of the other. "
            "Steps below are its own; the chart goes on from those of the reference.</p>\n",
            c->resumed_at);
}

/* ---- one difference ------------------------------------------------------------------------ */

static void add_sentence(const struct page *p, const struct tc_difference *d)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_compare_sentence(p->r->comparison, d, &text);
    add_text(p, text.text ? text.text : "");
    tc_strbuf_release(&text);
}

/* The place, in words when, and why it does not count. */
static void add_about(const struct page *p, const struct tc_difference *d, bool is_full)
{
    struct tc_strbuf when = TC_STRBUF_INIT;
    const char *at = tc_compare_at(p->r->comparison, d);

    tc_compare_when(p->r->comparison, d, &when);
    add_html(p, "<span class=\"about\">");
    if (*at) {
        add_html(p, "<code>");
        add_text(p, is_full ? at : tc_fs_base(at));
        add_html(p, d->site_b == TC_NO_SITE ? "</code> of the reference" : "</code>");
        add_html(p, !when.size ? "" : d->site_b == TC_NO_SITE ? ", " : " ");
    }
    add_text(p, when.text ? when.text : "");
    add_html(p, "</span>");
    if (d->aside) {
        add_html(p, " <span class=\"aside\">Set aside: ");
        add_html(p, tc_compare_why_aside(d->aside));
        add_html(p, ".</span>");
    }
    tc_strbuf_release(&when);
}

static void add_difference(const struct page *p, const struct tc_difference *d, bool has_code)
{
    struct tc_strbuf lines = TC_STRBUF_INIT;
    const bool is_quoted = has_code && tc_page_add_lines(p->r->comparison, d, &lines);

    add_html(p, is_quoted ? "<li><details><summary>" : "<li><div class=\"plain\">");
    add_sentence(p, d);
    add_html(p, " ");
    add_about(p, d, false);
    add_html(p, is_quoted ? "</summary>\n" : "</div></li>\n");
    if (is_quoted) {
        tc_strbuf_add(p->out, lines.text, lines.size);
        add_html(p, "</details></li>\n");
    }
    tc_strbuf_release(&lines);
}

static void add_first(const struct page *p)
{
    const struct tc_comparison *c = p->r->comparison;
    const struct tc_difference *first = tc_compare_first(p->r);

    add_html(p, "<section id=\"first\"><h2>What differs first</h2>\n");
    if (!first) {
        add_html(p, p->r->result->n_set_aside
                        ? "<p class=\"lead none\">Nothing differs but what is set aside.</p>\n"
                        : "<p class=\"lead none\">Nothing differs.</p>\n");
    } else {
        add_html(p, "<p class=\"lead\">");
        add_sentence(p, first);
        add_html(p, "</p>\n<p>");
        add_about(p, first, true);
        add_html(p, "</p>\n");
        if (!tc_page_add_lines(c, first, p->out) && *tc_compare_at(c, first))
            add_html(p, "<p class=\"faint\">The traces do not hold the lines of this file.</p>\n");
    }
    add_html(p, "</section>\n");
}

/* ---- the sections -------------------------------------------------------------------------- */

struct group {
    enum tc_difference_kind kind;
    bool is_aside; /* and not told in its section all the same, as what has no effect is */
};

static bool is_of(const struct group *g, const struct tc_difference *d)
{
    const bool is_aside = d->aside != TC_ASIDE_NO && d->aside != TC_ASIDE_SILENT;

    return d->kind == g->kind && is_aside == g->is_aside;
}

static size_t n_of(const struct page *p, const struct group *g)
{
    size_t n = 0;

    for (size_t i = 0; i < p->r->n; i++)
        n += is_of(g, p->r->order[i]);
    return n;
}

static void add_list(const struct page *p, const struct group *g, size_t n)
{
    size_t listed = 0;

    add_html(p, "<ul>\n");
    for (size_t i = 0; i < p->r->n && listed < MAX_LISTED && p->out->size < LIST_SIZE; i++)
        if (is_of(g, p->r->order[i]))
            add_difference(p, p->r->order[i], listed++ < MAX_WITH_CODE);
    add_html(p, "</ul>\n");
    if (listed < n)
        tc_strbuf_addf(p->out,
                       "<p class=\"faint\">%zu more %s not listed here; differences.jsonl has "
                       "all.</p>\n",
                       n - listed, n - listed == 1 ? "is" : "are");
}

/* A long list is folded; the first of it is reported. */
static void add_folded(const struct page *p, const struct group *g, size_t n)
{
    const struct tc_difference *first = NULL;

    for (size_t i = 0; i < p->r->n && !first; i++)
        if (is_of(g, p->r->order[i]))
            first = p->r->order[i];
    if (g->is_aside) {
        tc_strbuf_addf(p->out, "<details><summary>%zu set aside</summary>\n", n);
    } else {
        tc_strbuf_addf(p->out, "<details><summary>%zu differences, the first: ", n);
        add_sentence(p, first);
        add_html(p, " ");
        add_about(p, first, false);
        add_html(p, "</summary>\n");
    }
    add_list(p, g, n);
    add_html(p, "</details>\n");
}

static void add_kind(const struct page *p, enum tc_difference_kind kind)
{
    const struct group counted = {kind, false}, aside = {kind, true};
    const size_t n = n_of(p, &counted), n_aside = n_of(p, &aside);

    tc_strbuf_addf(p->out, "<div class=\"kind\"><h3>%s</h3>\n<div>", tc_difference_title(kind));
    if (n > MAX_OPEN)
        add_folded(p, &counted, n);
    else if (n)
        add_list(p, &counted, n);
    if (n_aside)
        add_folded(p, &aside, n_aside);
    if (!n && !n_aside)
        tc_strbuf_addf(p->out, "<p class=\"equal\">%s</p>",
                       tc_compare_nothing(p->r->comparison, kind));
    add_html(p, "</div></div>\n");
}

/* ---- sources ------------------------------------------------------------------------------- */

static bool has_sources(const struct tc_comparison *c)
{
    return c->reference.scripts.items.n && c->run.scripts.items.n;
}

/* "train.py: 1 line gone, 2 new" */
static void say_source(const struct page *p, struct tc_file_pair pair)
{
    add_html(p, "<code>");
    add_text(p, tc_fs_base((pair.b ? pair.b : pair.a)->at));
    add_html(p, "</code>");
    tc_compare_file(pair, p->out);
}

static void add_sources_kind(const struct page *p)
{
    size_t n;

    add_html(p, "<div class=\"kind\"><h3>sources</h3>\n<div>");
    if (!has_sources(p->r->comparison)) {
        add_html(p, "<p class=\"equal\">not in these traces</p></div></div>\n");
        return;
    }
    struct tc_file_pair *pairs = tc_compare_files(p->r->comparison, &n);
    add_html(p, "<ul>\n");
    for (size_t i = 0; i < n; i++) {
        add_html(p, "<li><div class=\"plain\">");
        say_source(p, pairs[i]);
        add_html(p, "</div></li>\n");
    }
    tc_free(pairs);
    add_html(p, "</ul>\n");
    add_html(p, n ? "<p><a href=\"#sources\">their lines</a></p>" : "<p class=\"equal\">equal</p>");
    add_html(p, "</div></div>\n");
}

static void add_hunks(const struct page *p, struct tc_file_pair pair)
{
    const bool has_lines = (pair.b && pair.b->lines) || (pair.a && pair.a->lines);

    if (p->out->size >= SOURCES_SIZE || !has_lines) {
        add_html(p, "<p>");
        say_source(p, pair);
        add_html(p, has_lines ? "; not shown: the page is full.</p>\n" : ".</p>\n");
        return;
    }
    add_html(p, "<details><summary>");
    say_source(p, pair);
    add_html(p, "</summary>\n");
    tc_page_add_hunks(pair.a, pair.b, SOURCES_SIZE, p->out);
    add_html(p, "</details>\n");
}

static void add_sources(const struct page *p)
{
    size_t n;

    if (!has_sources(p->r->comparison))
        return;
    add_html(p, "<section id=\"sources\"><h2>Lines of the sources</h2>\n");
    struct tc_file_pair *pairs = tc_compare_files(p->r->comparison, &n);
    for (size_t i = 0; i < n; i++)
        add_hunks(p, pairs[i]);
    tc_free(pairs);
    if (!n)
        add_html(p, "<p class=\"equal\">The sources are equal.</p>\n");
    add_html(p, "</section>\n");
}

/* ---- the page ------------------------------------------------------------------------------ */

static void add_kinds(const struct page *p)
{
    struct tc_strbuf parted = TC_STRBUF_INIT;

    add_html(p, "<section id=\"all\"><h2>All that differs</h2>\n");
    for (int kind = 0; kind < TC_N_DIFFERENCE_KINDS; kind++) {
        add_kind(p, (enum tc_difference_kind)kind);
        if (kind == TC_DIFFERENCE_COMMAND)
            add_sources_kind(p);
    }
    if (tc_compare_parted(p->r->comparison, &parted)) {
        add_html(p, "<div class=\"kind\"><h3>values part</h3>\n<div><p>");
        add_text(p, parted.text);
        add_html(p, "</p></div></div>\n");
    }
    add_html(p, "</section>\n");
    tc_strbuf_release(&parted);
}

static void add_footer(const struct page *p)
{
    add_html(p, "<footer>TrainCheck " TC_VERSION);
    if (p->r->config->command_line) {
        add_html(p, " &#183; <code>");
        add_text(p, p->r->config->command_line);
        add_html(p, "</code>");
    }
    add_html(p, "</footer>\n");
}

void tc_compare_report_html(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    const struct page p = {r, out};

    add_html(&p, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<title>TrainCheck: two runs</title>\n<style>\n");
    add_html(&p, tc_text_parts_css);
    add_html(&p, tc_text_compare_css);
    add_html(&p, "</style></head>\n<body>\n<main>\n");
    add_runs(&p);
    add_first(&p);
    add_kinds(&p);
    tc_page_add_loss(r->comparison, out);
    add_sources(&p);
    add_html(&p, "</main>\n");
    add_footer(&p);
    add_html(&p, "</body></html>\n");
}
