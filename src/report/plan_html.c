/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_html.c - the verdict on a plan as a page: layers of the model by ranks of the mesh
 */
#include "report/plan.h"

#include <ctype.h>
#include <string.h>

#include "base/banned.h"
#include "base/safe.h"

#define MAX_RANKS 64 /* columns */

static void add(struct tc_strbuf *out, const char *text)
{
    tc_safe_add(out, TC_SAFE_XML, text, strlen(text));
}

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
        tc_strbuf_addf(out, "<td class=\"%s\" title=\"%u\"></td>",
                       r->verdict->n_verified ? "right" : "unknown", held);
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
        tc_strbuf_adds(out, "</th>");
        for (uint32_t rank = 0; rank < n_ranks; rank++)
            add_cell(r, name, size, rank, out);
        tc_strbuf_adds(out, "</tr>\n");
    }
}

/* The places of a rank on the axes, one below the other. */
static void add_head(const struct tc_plan_report *r, uint32_t n_ranks, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, "<tr><th>layer \\ rank</th>");
    for (uint32_t i = 0; i < n_ranks; i++) {
        const struct tc_plan_rank *rank = &r->parallel->ranks[i];
        tc_strbuf_addf(out, "<th>%u", i);
        for (size_t a = 0; a < rank->mesh.n; a++) {
            if (rank->mesh.items[a].is_joined)
                continue;
            tc_strbuf_adds(out, "<br><small>");
            add(out, tc_strtab_text(r->single->names, rank->mesh.items[a].name));
            tc_strbuf_addf(out, " %lld</small>",
                           (long long)tc_plan_group_index(
                               &r->parallel->groups.items[rank->mesh.items[a].group], i));
        }
        tc_strbuf_adds(out, "</th>");
    }
    tc_strbuf_adds(out, "</tr>\n");
}

static void add_finding(const struct tc_plan_finding *f, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, "<li><b>");
    add(out, *f->src ? f->src : f->kind);
    tc_strbuf_adds(out, "</b> ");
    add(out, f->text);
    if (*f->details) {
        tc_strbuf_adds(out, "<pre>");
        add(out, f->details);
        tc_strbuf_adds(out, "</pre>");
    }
    if (*f->hint) {
        tc_strbuf_adds(out, "<p>Hint: ");
        add(out, f->hint);
        tc_strbuf_adds(out, "</p>");
    }
    tc_strbuf_adds(out, "</li>\n");
}

void tc_plan_report_html(const struct tc_plan_report *r, struct tc_strbuf *out)
{
    static const char *const answers[] = {"verified", "refuted", "unjudged"};
    uint32_t n_ranks = r->parallel->world < MAX_RANKS ? r->parallel->world : MAX_RANKS;
    const struct tc_plan_verdict *v = r->verdict;

    tc_strbuf_adds(out,
                   "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n"
                   "<title>TrainCheck plan</title>\n<style>"
                   "body{font:15px/1.4 sans-serif;margin:2em;max-width:80em}"
                   "table{border-collapse:collapse}th,td{border:1px solid #ccc;padding:3px 7px;"
                   "text-align:center}th{font-weight:normal;background:#f6f6f6}"
                   ".wrong{background:#d33;color:#fff}.right{background:#cfe8cf}"
                   ".unknown{background:#eee}pre{background:#f6f6f6;padding:.5em}</style>\n");
    tc_strbuf_addf(out, "<h1>Plan %s</h1>\n<p>", answers[v->outcome]);
    add(out, r->parallel->folder);
    tc_strbuf_adds(out, " beside ");
    add(out, r->single->folder);
    tc_strbuf_addf(out,
                   ": %u ranks (%u retargeted), %zu results, %llu differ, %llu verified "
                   "(error &lt; 2^-%u).</p>\n<ol>\n",
                   r->parallel->world, r->parallel->n_retargeted, v->results.n,
                   (unsigned long long)v->n_wrong, (unsigned long long)v->n_verified,
                   v->error_bits);
    for (size_t i = 0; i < v->findings.n; i++)
        add_finding(&v->findings.items[i], out);
    tc_strbuf_adds(out, "</ol>\n<h2>Layers and ranks</h2>\n<table>\n");
    add_head(r, n_ranks, out);
    add_rows(r, n_ranks, out);
    tc_strbuf_adds(out, "</table>\n");
    if (n_ranks < r->parallel->world)
        tc_strbuf_addf(out, "<p>The first %u of %u ranks.</p>\n", n_ranks, r->parallel->world);
    tc_strbuf_adds(out, "</html>\n");
}
