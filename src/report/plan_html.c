/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_html.c - the verdict on a plan as a page: layers of the model by ranks of the mesh
 *
 * A table has a row for each layer and a column for each rank; a cell says how many of the
 * results there differ, and links to the findings. The page loads nothing.
 */
#include "report/plan_html.h"

#include <ctype.h>
#include <string.h>

#include "base/safe.h"
#include "report/html/parts.h"

#define MAX_RANKS 64 /* columns */

/* "layers.0" of "layers.0.norm.weight"; "head" of "head.weight". */
static size_t layer_of(const char *name)
{
    const char *dot = strchr(name, '.');
    size_t first = dot ? (size_t)(dot - name) : strlen(name);

    for (const char *p = name; *p;) {
        size_t n = strcspn(p, ".");
        if (n && strspn(p, "0123456789") == n)
            return (size_t)(p - name) + n;
        p += n + (p[n] == '.');
    }
    return first;
}

static bool is_wrong_on(const struct tc_plan_judged *r, uint32_t rank)
{
    for (size_t i = 0; i < r->ranks.n; i++)
        if (r->ranks.items[i] == rank)
            return true;
    return false;
}

static bool holds(const struct tc_plan_rank *rank, tc_sym name)
{
    for (size_t i = 0; i < rank->results.n; i++)
        if (rank->results.items[i].name == name)
            return true;
    return false;
}

/* Results of one layer on one rank. */
static void add_cell(const struct tc_plan_report *r, const char *layer, size_t size, uint32_t rank,
                     struct tc_strbuf *out)
{
    unsigned held = 0, wrong = 0;

    for (size_t i = 0; i < r->verdict->results.n; i++) {
        const struct tc_plan_judged *judged = &r->verdict->results.items[i];
        const char *name = tc_strtab_text(r->single->names, judged->name);
        if (layer_of(name) != size || memcmp(name, layer, size) != 0 ||
            !holds(&r->parallel->ranks[rank], judged->name))
            continue;
        held++;
        wrong += is_wrong_on(judged, rank);
    }
    if (!held)
        tc_strbuf_adds(out, "<td></td>");
    else if (wrong)
        tc_strbuf_addf(out, "<td class=\"wrong\" title=\"%u of %u differ\">%u</td>", wrong, held,
                       wrong);
    else
        tc_strbuf_addf(out, "<td class=\"%s\" title=\"%u result%s\">%s</td>",
                       r->verdict->n_verified ? "right" : "unknown", held, held == 1 ? "" : "s",
                       r->verdict->n_verified ? "&#10003;" : "?");
}

/* The findings about tensors of a layer. */
static void add_links(const struct tc_plan_report *r, const char *layer, size_t size,
                      struct tc_strbuf *out)
{
    for (size_t i = 0; i < r->verdict->findings.n; i++) {
        const char *name = r->verdict->findings.items[i].name;
        if (*name && layer_of(name) == size && !memcmp(name, layer, size))
            tc_strbuf_addf(out, " <a href=\"#finding%zu\">departs</a>", i + 1);
    }
}

/* A row for each layer, in the order of the reference's results. */
static void add_rows(const struct tc_plan_report *r, uint32_t n_ranks, struct tc_strbuf *out)
{
    for (size_t i = 0; i < r->verdict->results.n; i++) {
        const char *name = tc_strtab_text(r->single->names, r->verdict->results.items[i].name);
        size_t size = layer_of(name);
        bool is_new = true;
        for (size_t k = 0; k < i && is_new; k++) {
            const char *other = tc_strtab_text(r->single->names, r->verdict->results.items[k].name);
            is_new = layer_of(other) != size || memcmp(other, name, size) != 0;
        }
        if (!is_new)
            continue;
        tc_strbuf_adds(out, "<tr><th>");
        tc_safe_add(out, TC_SAFE_XML, name, size);
        add_links(r, name, size, out);
        tc_strbuf_adds(out, "</th>");
        for (uint32_t rank = 0; rank < n_ranks; rank++)
            add_cell(r, name, size, rank, out);
        tc_strbuf_adds(out, "</tr>\n");
    }
}

/* The places of a rank on the axes, one below the other. */
static void add_head(const struct tc_plan_report *r, uint32_t n_ranks, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, "<thead><tr><th>layer \\ rank</th>");
    for (uint32_t i = 0; i < n_ranks; i++) {
        const struct tc_plan_rank *rank = &r->parallel->ranks[i];
        tc_strbuf_addf(out, "<th>%u", i);
        for (size_t a = 0; a < rank->mesh.n; a++) {
            if (rank->mesh.items[a].is_joined)
                continue;
            tc_strbuf_adds(out, "<br><small>");
            tc_safe_adds(out, TC_SAFE_XML,
                         tc_strtab_text(r->single->names, rank->mesh.items[a].name));
            tc_strbuf_addf(out, " %lld</small>",
                           (long long)tc_plan_group_index(
                               &r->parallel->groups.items[rank->mesh.items[a].group], i));
        }
        tc_strbuf_adds(out, "</th>");
    }
    tc_strbuf_adds(out, "</tr></thead>\n");
}

/* ---- findings ------------------------------------------------------------------------------ */

static void add_ranks(const struct tc_plan_finding *f, struct tc_strbuf *out)
{
    if (!f->n_ranks)
        return;
    tc_strbuf_addf(out, "<p class=\"faint\">on rank%s ", f->n_ranks == 1 ? "" : "s");
    tc_plan_describe_ranks(f->ranks, f->n_ranks, out);
    tc_strbuf_adds(out, "</p>\n");
}

/* What the drawing does not show: where factors come from. */
static void add_details(const struct tc_plan_finding *f, struct tc_strbuf *out)
{
    static const char drawn[] = "operand from ";

    for (const char *line = f->details; *line;) {
        size_t n = strcspn(line, "\n");
        if (strncmp(line, drawn, sizeof(drawn) - 1) != 0) {
            tc_strbuf_adds(out, "<p class=\"detail\">");
            tc_safe_add(out, TC_SAFE_XML, line, n);
            tc_strbuf_adds(out, "</p>\n");
        }
        line += n + (line[n] == '\n');
    }
}

static void add_finding(const struct tc_plan_finding *f, size_t number, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "<section class=\"finding\" id=\"finding%zu\"><h3>", number);
    tc_safe_adds(out, TC_SAFE_XML, *f->src ? f->src : f->kind);
    tc_strbuf_adds(out, "</h3>\n<p>");
    tc_safe_adds(out, TC_SAFE_XML, f->text);
    tc_strbuf_adds(out, "</p>\n");
    add_ranks(f, out);
    add_details(f, out);
    tc_plan_draw_html(&f->drawing, out);
    if (*f->hint) {
        tc_strbuf_adds(out, "<p class=\"hint\">Hint: ");
        tc_safe_adds(out, TC_SAFE_XML, f->hint);
        tc_strbuf_adds(out, "</p>\n");
    }
    tc_strbuf_adds(out, "</section>\n");
}

/* ---- the page ------------------------------------------------------------------------------ */

static void add_summary(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    static const char *const answers[] = {"verified", "refuted", "unjudged"};
    const struct tc_plan_verdict *v = r->verdict;

    tc_strbuf_addf(out, "<h1 class=\"%s\">Plan %s</h1>\n<p>", answers[v->outcome],
                   answers[v->outcome]);
    tc_safe_adds(out, TC_SAFE_XML, r->parallel->folder);
    tc_strbuf_adds(out, " beside ");
    tc_safe_adds(out, TC_SAFE_XML, r->single->folder);
    tc_strbuf_addf(out, ": %u ranks", r->parallel->world);
    if (r->parallel->n_retargeted)
        tc_strbuf_addf(out, " (%u retargeted)", r->parallel->n_retargeted);
    tc_strbuf_addf(out, ", %zu results, %llu differ, %llu verified (", v->results.n,
                   (unsigned long long)v->n_wrong, (unsigned long long)v->n_verified);
    tc_plan_add_bound(v, out);
    tc_strbuf_adds(out, ").</p>\n");
    for (size_t i = 0; i < v->warnings.n; i++) {
        tc_strbuf_adds(out, "<p class=\"note\">");
        tc_safe_adds(out, TC_SAFE_XML, v->warnings.items[i]);
        tc_strbuf_adds(out, "</p>\n");
    }
}

static void add_table(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    uint32_t n_ranks = r->parallel->world < MAX_RANKS ? r->parallel->world : MAX_RANKS;

    tc_strbuf_adds(out, "<h2>Layers and ranks</h2>\n<div class=\"scroll\"><table>\n");
    add_head(r, n_ranks, out);
    add_rows(r, n_ranks, out);
    tc_strbuf_adds(out, "</table></div>\n");
    if (n_ranks < r->parallel->world)
        tc_strbuf_addf(out, "<p class=\"faint\">The first %u of %u ranks.</p>\n", n_ranks,
                       r->parallel->world);
}

void tc_plan_report_html(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    const struct tc_plan_verdict *v = r->verdict;

    tc_strbuf_adds(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                        "<title>TrainCheck plan</title>\n<style>\n");
    tc_strbuf_adds(out, tc_text_plan_css);
    tc_strbuf_adds(out, "</style></head>\n<body>\n");
    add_summary(r, out);
    for (size_t i = 0; i < v->findings.n; i++)
        add_finding(&v->findings.items[i], i + 1, out);
    add_table(r, out);
    tc_strbuf_adds(out, "</body></html>\n");
}
