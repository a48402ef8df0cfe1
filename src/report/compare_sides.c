/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_sides.c - lines of two scripts side by side
 *
 * A grid of two columns. Its cells stand in the order of a unified diff: where the window is narrow
 * the style sheet makes one column of them, and hides what stands on the right, too. Both columns
 * have the same number of cells at the end of each hunk, so each fills its own column.
 */
#include "report/compare_page.h"

#include <string.h>

#include "compare/diff.h"

#define CONTEXT      6   /* equal lines around a difference */
#define HUNK_CONTEXT 3   /* around a hunk, where all are shown */
#define MAX_RUN      40  /* lines of one side in a row */
#define MAX_LINE     400 /* bytes of a line */

struct sides {
    struct tc_strbuf *out;
    const struct tc_script *a, *b; /* one may be NULL */
    size_t i, end_a, k, end_b;     /* next lines of a and of b */
    size_t mark_a, mark_b;         /* the lines of the difference, or SIZE_MAX */
    size_t context, since;         /* equal lines that are shown; seen since the last change */
    size_t indent;                 /* blanks that are left out */
    size_t max_size;               /* of out */
    bool is_skipping;
};

static bool is_alone(const struct tc_script *script, size_t line)
{
    return !script->match || script->match[line] == TC_UNMATCHED;
}

/* ---- cells --------------------------------------------------------------------------------- */

/* tag: with attributes. */
static void add_cell(const struct sides *s, const char *tag, const char *class,
                     const struct tc_script *script, size_t line, bool is_marked)
{
    const struct tc_script_line *l = &script->lines[line];
    const size_t skip = l->size > s->indent ? s->indent : l->size;

    tc_strbuf_addf(s->out, "<%s class=\"%s%s\"%s><i>%zu</i><code>", tag, class,
                   is_marked ? " here" : "", is_marked ? " aria-current=\"true\"" : "", line + 1);
    tc_page_add(s->out, l->text + skip, l->size - skip, MAX_LINE);
    tc_strbuf_addf(s->out, "</code></%.*s>\n", (int)strcspn(tag, " "), tag);
}

static void add_fillers(const struct sides *s, char side, size_t n)
{
    while (n--)
        tc_strbuf_addf(s->out, "<b class=\"%c\"></b>\n", side);
}

static void add_gap(const struct sides *s, size_t n)
{
    tc_strbuf_addf(s->out, "<p>%zu line%s more</p>\n", n, n == 1 ? "" : "s");
}

/* ---- rows ---------------------------------------------------------------------------------- */

static size_t n_alone(const struct tc_script *script, size_t line, size_t end)
{
    size_t n = 0;

    while (script && line + n < end && is_alone(script, line + n))
        n++;
    return n;
}

/* Lines that one script alone has, each side with as many cells. */
static void add_hunk(struct sides *s, size_t n_a, size_t n_b)
{
    const size_t told_a = n_a < MAX_RUN ? n_a : MAX_RUN, told_b = n_b < MAX_RUN ? n_b : MAX_RUN;

    for (size_t i = 0; i < told_a; i++)
        add_cell(s, "del", "o", s->a, s->i + i, s->i + i == s->mark_a);
    for (size_t k = 0; k < told_b; k++)
        add_cell(s, "ins", "n", s->b, s->k + k, s->k + k == s->mark_b);
    add_fillers(s, 'o', told_b > told_a ? told_b - told_a : 0);
    add_fillers(s, 'n', told_a > told_b ? told_a - told_b : 0);
    if (n_a > told_a || n_b > told_b)
        add_gap(s, (n_a - told_a) + (n_b - told_b));
    s->i += n_a;
    s->k += n_b;
    s->since = 0;
}

/* Does a hunk begin within the next n lines? */
static bool is_near_change(const struct sides *s, size_t n)
{
    for (size_t i = 0; i <= n; i++)
        if ((s->i + i < s->end_a && is_alone(s->a, s->i + i)) ||
            (s->k + i < s->end_b && is_alone(s->b, s->k + i)))
            return true;
    return false;
}

static void add_equal(struct sides *s)
{
    const bool is_marked = s->i == s->mark_a || s->k == s->mark_b;

    if (s->since >= s->context && !is_near_change(s, s->context)) {
        s->is_skipping = true;
    } else {
        if (s->is_skipping)
            tc_strbuf_adds(s->out, "<p>&#8942;</p>\n");
        s->is_skipping = false;
        add_cell(s, "span aria-hidden=\"true\"", "o", s->a, s->i, is_marked); /* is read once */
        add_cell(s, "span", "n", s->b, s->k, is_marked);
    }
    s->since++;
    s->i++;
    s->k++;
}

static void add_rows(struct sides *s)
{
    while ((s->i < s->end_a || s->k < s->end_b) && s->out->size < s->max_size) {
        const size_t n_a = n_alone(s->a, s->i, s->end_a), n_b = n_alone(s->b, s->k, s->end_b);
        if (n_a || n_b)
            add_hunk(s, n_a, n_b);
        else if (s->i < s->end_a && s->k < s->end_b)
            add_equal(s);
        else
            return; /* the like of the next line lies beyond */
    }
}

static void add_head(const struct sides *s, char side, const char *name,
                     const struct tc_script *script)
{
    tc_strbuf_addf(s->out, "<div class=\"%c\">%s: ", side, name);
    if (script)
        tc_page_add(s->out, script->at, strlen(script->at), MAX_LINE);
    else
        tc_strbuf_adds(s->out, "no such file");
    tc_strbuf_adds(s->out, "</div>\n");
}

static void add_sides(struct sides *s)
{
    tc_strbuf_adds(s->out, "<div class=\"sides\">\n");
    add_head(s, 'o', "Reference", s->a);
    add_head(s, 'n', "This run", s->b);
    add_rows(s);
    tc_strbuf_adds(s->out, "</div>\n");
    if (s->out->size >= s->max_size)
        tc_strbuf_adds(s->out, "<p class=\"faint\">The rest is not shown: the page is full.</p>\n");
}

/* ---- which lines ---------------------------------------------------------------------------- */

struct range {
    size_t begin, end;
};

static struct range range_around(const struct tc_script *script, size_t line)
{
    struct range r = {line < CONTEXT ? 0 : line - CONTEXT, line + CONTEXT + 1};

    if (r.end > script->n_lines)
        r.end = script->n_lines;
    return r;
}

/* The lines of the other script that stand beside them. */
static struct range range_beside(const struct tc_script *script, struct range r)
{
    size_t before = r.begin, after = r.end;
    struct range beside = {0, script->other->n_lines};

    while (before > 0 && is_alone(script, before))
        before--;
    if (!is_alone(script, before))
        beside.begin = script->match[before] + (before < r.begin);
    while (after < script->n_lines && is_alone(script, after))
        after++;
    if (!is_alone(script, r.end - 1))
        beside.end = script->match[r.end - 1] + 1;
    else if (after < script->n_lines)
        beside.end = script->match[after];
    return beside;
}

static void leave_out_indent(struct sides *s, const struct tc_script *script, size_t begin,
                             size_t end)
{
    for (; script && begin < end; begin++) {
        const struct tc_script_line *line = &script->lines[begin];
        size_t blanks = 0;
        while (blanks < line->size && line->text[blanks] == ' ')
            blanks++;
        if (blanks < line->size && blanks < s->indent)
            s->indent = blanks;
    }
}

static void lay_beside(struct sides *s, const struct tc_script *script, size_t line, bool is_of_run)
{
    const struct tc_script *other = script->match ? script->other : NULL;
    const struct range of = range_around(script, line);
    const struct range beside = other ? range_beside(script, of) : (struct range){0, 0};
    const struct range of_a = is_of_run ? beside : of, of_b = is_of_run ? of : beside;

    s->a = is_of_run ? other : script;
    s->b = is_of_run ? script : other;
    s->i = of_a.begin;
    s->end_a = of_a.end;
    s->k = of_b.begin;
    s->end_b = of_b.end;
    leave_out_indent(s, s->a, s->i, s->end_a);
    leave_out_indent(s, s->b, s->k, s->end_b);
}

bool tc_page_add_lines(const struct tc_comparison *c, const struct tc_difference *d,
                       struct tc_strbuf *out)
{
    struct sides s = {.out = out,
                      .indent = SIZE_MAX,
                      .context = SIZE_MAX,
                      .max_size = SIZE_MAX,
                      .mark_a = SIZE_MAX,
                      .mark_b = SIZE_MAX};
    size_t line_a, line_b;
    const struct tc_script *a =
        tc_scripts_at(&c->reference.scripts, tc_compare_at_reference(c, d), &line_a);
    const struct tc_script *b = tc_scripts_at(&c->run.scripts, tc_compare_at_run(c, d), &line_b);

    if (!a && !b)
        return false;
    lay_beside(&s, b ? b : a, b ? line_b : line_a, b != NULL);
    if (a && a == s.a)
        s.mark_a = line_a;
    if (b)
        s.mark_b = line_b;
    add_sides(&s);
    return true;
}

void tc_page_add_hunks(const struct tc_script *a, const struct tc_script *b, size_t max_size,
                       struct tc_strbuf *out)
{
    struct sides s = {.out = out,
                      .a = a,
                      .b = b,
                      .end_a = a ? a->n_lines : 0,
                      .end_b = b ? b->n_lines : 0,
                      .mark_a = SIZE_MAX,
                      .mark_b = SIZE_MAX,
                      .context = HUNK_CONTEXT,
                      .since = HUNK_CONTEXT, /* nothing changed before the first line */
                      .max_size = max_size};

    add_sides(&s);
}
