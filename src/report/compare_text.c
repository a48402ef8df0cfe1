/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_text.c - the comparison as one screen of a terminal
 *
 * First what leads, with the lines of both scripts, then a section for each kind, then how near
 * the values are. With --verbose all differences are listed in order.
 */
#include "report/compare_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "report/fold.h"

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define GREEN "\033[32m"
#define FAINT "\033[2m"
#define RESET "\033[0m"

/* Titles take so many columns. */
#define TITLE 18

struct printer {
    const struct tc_compare_report *r;
    struct tc_strbuf *out;
};

static void paint(const struct printer *p, const char *code)
{
    if (p->r->config->color)
        tc_strbuf_adds(p->out, code);
}

static void add_text(const struct printer *p, const char *text)
{
    tc_fold_add(p->out, text, strlen(text));
}

/* ---- the one that leads -------------------------------------------------------------------- */

static void print_sentence(const struct printer *p, const struct tc_difference *d,
                           const char *label)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    const char *at = tc_compare_at(p->r->comparison, d);

    if (*at)
        tc_strbuf_addf(&text, "%s  ", tc_fs_base(at));
    tc_compare_sentence(p->r->comparison, d, &text);
    tc_compare_origin(d, &text);
    size_t size = text.size;
    tc_strbuf_adds(&text, ", ");
    tc_compare_when(p->r->comparison, d, &text);
    if (text.size == size + 2)
        text.text[text.size = size] = '\0';
    tc_fold(p->out, label, text.text);
    tc_strbuf_release(&text);
}

static void print_first(const struct printer *p)
{
    const struct tc_difference *first = tc_compare_first(p->r);

    if (!first) {
        tc_strbuf_adds(p->out, p->r->result->n_set_aside
                                   ? "Nothing differs but what is set aside.\n"
                                   : "Nothing differs.\n");
        return;
    }
    paint(p, BOLD);
    print_sentence(p, first, "What differs first: ");
    paint(p, RESET);
    tc_compare_print_quote(p->r->comparison, first, p->r->config->color, p->out);
}

/* ---- the sections -------------------------------------------------------------------------- */

static void print_title(const struct printer *p, const char *title)
{
    tc_strbuf_addf(p->out, "  %-*s", TITLE - 2, title);
}

static void print_scripts(const struct printer *p)
{
    const struct tc_comparison *c = p->r->comparison;
    const bool is_known = c->reference.scripts.items.n && c->run.scripts.items.n;
    size_t n;
    struct tc_file_pair *pairs = tc_compare_files(c, &n);

    if (!is_known || !n) {
        print_title(p, "sources");
        tc_strbuf_adds(p->out, is_known ? "equal\n" : "not in these traces\n");
    }
    for (size_t i = 0; is_known && i < n; i++) {
        print_title(p, i ? "" : "sources");
        add_text(p, tc_fs_base((pairs[i].b ? pairs[i].b : pairs[i].a)->at));
        tc_compare_file(pairs[i], p->out);
        tc_strbuf_addc(p->out, '\n');
    }
    tc_free(pairs);
}

static void print_kind(const struct printer *p, enum tc_difference_kind kind)
{
    const struct tc_compare_report *r = p->r;
    size_t n = 0, n_shown = 0, n_aside = 0;

    for (size_t i = 0; i < r->n; i++) {
        const struct tc_difference *d = r->order[i];
        if (d->kind != kind)
            continue;
        n += d->aside == TC_ASIDE_NO || d->aside == TC_ASIDE_SILENT;
        n_aside += d->aside != TC_ASIDE_NO && d->aside != TC_ASIDE_SILENT;
        if (!r->is_shown[i])
            continue;
        struct tc_strbuf label = TC_STRBUF_INIT;
        tc_strbuf_addf(&label, "%-*s", TITLE - 2, n_shown++ ? "" : tc_difference_title(kind));
        print_sentence(p, d, label.text);
        if (d->aside == TC_ASIDE_SILENT)
            tc_strbuf_addf(p->out, "%*s(%s)\n", TITLE, "", tc_compare_why_aside(d->aside));
        tc_strbuf_release(&label);
    }
    if (n > n_shown)
        tc_strbuf_addf(p->out, "%*s%zu more\n", TITLE, "", n - n_shown);
    if (n)
        return;
    print_title(p, tc_difference_title(kind));
    if (n_aside)
        tc_strbuf_addf(p->out, "%zu set aside\n", n_aside);
    else
        tc_strbuf_addf(p->out, "%s\n", tc_compare_nothing(r->comparison, kind));
}

static void print_sections(const struct printer *p)
{
    for (int kind = 0; kind < TC_N_DIFFERENCE_KINDS; kind++) {
        print_kind(p, (enum tc_difference_kind)kind);
        if (kind == TC_DIFFERENCE_COMMAND)
            print_scripts(p);
    }
}

static void print_values(const struct printer *p)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (tc_compare_parted(p->r->comparison, &text)) {
        print_title(p, "values part");
        tc_strbuf_addf(p->out, "%s\n", text.text);
    }
    tc_strbuf_release(&text);
}

/* ---- all of them, with -v ------------------------------------------------------------------- */

static void print_all(const struct printer *p)
{
    const struct tc_compare_report *r = p->r;

    tc_strbuf_adds(p->out, "\nAll differences, in order:\n");
    for (size_t i = 0; i < r->n; i++) {
        struct tc_strbuf label = TC_STRBUF_INIT;
        tc_strbuf_addf(&label, "%s: ", tc_difference_word(r->order[i]->kind));
        print_sentence(p, r->order[i], label.text);
        if (r->order[i]->aside)
            tc_strbuf_addf(p->out, "    (set aside: %s)\n",
                           tc_compare_why_aside(r->order[i]->aside));
        tc_strbuf_release(&label);
    }
}

void tc_compare_report_text(const struct tc_compare_report *r, struct tc_strbuf *out)
{
    const struct printer p = {r, out};

    if (r->comparison->resumed_at >= 0)
        tc_strbuf_addf(out, "The run goes on at step %" PRId64 " of the other.\n",
                       r->comparison->resumed_at);
    if (r->comparison->n_steps_of_ranks)
        tc_strbuf_addf(out,
                       "%" PRId64 " ranks beside %" PRId64 ": rows, losses and norms of %" PRIu64
                       " steps, and the calls of one rank.\n",
                       r->comparison->run.world, r->comparison->reference.world,
                       r->comparison->n_steps_of_ranks);
    if (r->comparison->n_parts_of_ranks)
        tc_strbuf_addf(
            out,
            "Not compared: %" PRIu64 " variable%s whose parts on the ranks are no rows of "
            "one tensor.\n",
            r->comparison->n_parts_of_ranks, r->comparison->n_parts_of_ranks == 1 ? "" : "s");
    print_first(&p);
    if (r->config->quiet)
        return;
    tc_strbuf_addc(out, '\n');
    print_sections(&p);
    print_values(&p);
    if (r->config->verbose && r->n)
        print_all(&p);
}
