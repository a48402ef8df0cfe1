/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_quote.c - the lines of both scripts around a difference, as a diff shows them
 *
 * Both scripts are aligned as a diff aligns them. Quoted is the edited place, or else the line
 * of the difference, with the nearest lines that both have. The line of the difference is always
 * among those that are printed; long lines are folded.
 */
#include "report/compare_report.h"

#include "compare/diff.h"
#include "compare/edited_line.h"
#include "report/fold.h"

struct quote {
    const struct tc_script *a, *b; /* of the reference and of the run */
    struct tc_quoted_line *out;
    size_t n, max;
};

static void add_line(struct quote *q, char sign, const struct tc_script *script, size_t line)
{
    if (q->n < q->max && line < script->n_lines)
        q->out[q->n++] =
            (struct tc_quoted_line){.sign = sign, .number = line + 1, .line = &script->lines[line]};
}

/* From lines a and b on, which stand beside each other, as a diff goes: those of the reference
 * alone, those of the run alone, then one of both. */
static void add_lines(struct quote *q, size_t a, size_t b, size_t end_a, size_t end_b)
{
    while (a < end_a || b < end_b) {
        if (a < end_a && q->a->match[a] == TC_UNMATCHED) {
            add_line(q, '-', q->a, a++);
        } else if (b < end_b && q->b->match[b] == TC_UNMATCHED) {
            add_line(q, '+', q->b, b++);
        } else {
            if (b < end_b)
                add_line(q, ' ', q->b, b);
            if (q->n && a < end_a)
                q->out[q->n - 1].of_reference = a + 1;
            a += a < end_a;
            b += b < end_b;
        }
    }
}

/* Back to a line that both have, at most so many lines. */
static size_t common_before(const struct tc_script *script, size_t line, size_t most)
{
    for (size_t n = 0; line > 0 && n < most; n++)
        if (script->match[--line] != TC_UNMATCHED)
            return line;
    return line;
}

static size_t common_after(const struct tc_script *script, size_t line, size_t most)
{
    for (size_t n = 0; n < most && line < script->n_lines; n++, line++)
        if (script->match[line] != TC_UNMATCHED)
            return line + 1;
    return line;
}

/* Where the lines are that say most: those of the origin, if there is one. */
static const struct tc_script *quoted_script(const struct tc_comparison *c,
                                             const struct tc_difference *d, size_t *line,
                                             bool *is_of_run)
{
    const struct tc_script *edited = tc_edited_line(&d->edited, line);

    if (edited) {
        *is_of_run = edited == d->edited.script_b;
        return edited;
    }
    *is_of_run = *tc_compare_at_run(c, d) != '\0';
    return tc_scripts_at(*is_of_run ? &c->run.scripts : &c->reference.scripts, tc_compare_at(c, d),
                         line);
}

size_t tc_compare_quote_around(const struct tc_comparison *c, const struct tc_difference *d,
                               size_t context, struct tc_quoted_line *out, size_t max)
{
    const size_t most = max / 2;
    size_t line = 0, a, b, end_a, end_b;
    bool is_of_run;
    const struct tc_script *script = quoted_script(c, d, &line, &is_of_run);
    struct quote q = {.out = out, .max = max};

    if (!script || !script->match)
        return 0;
    q.a = is_of_run ? script->other : script;
    q.b = is_of_run ? script : script->other;
    size_t begin = common_before(script, line, most), end = common_after(script, line + 1, most);
    if (context) {
        begin = common_before(script, begin < context ? 0 : begin - context + 1, most);
        end = end + context > script->n_lines ? script->n_lines
                                              : common_after(script, end + context - 1, most);
    }
    const struct tc_script *other = script->other;
    const size_t other_begin = begin ? script->match[begin] : 0;
    const size_t other_end =
        end < script->n_lines || !other->n_lines ? script->match[end - 1] : other->n_lines - 1;
    if (other_begin == TC_UNMATCHED || other_end == TC_UNMATCHED || other_end < other_begin) {
        for (size_t i = begin; i < end; i++)
            add_line(&q, script->match[i] != TC_UNMATCHED ? ' ' : is_of_run ? '+' : '-', script, i);
        return q.n;
    }
    a = is_of_run ? other_begin : begin;
    end_a = is_of_run ? other_end + 1 : end;
    b = is_of_run ? begin : other_begin;
    end_b = is_of_run ? end : other_end + 1;
    add_lines(&q, a, b, end_a, end_b);
    return q.n;
}

size_t tc_compare_quote(const struct tc_comparison *c, const struct tc_difference *d,
                        struct tc_quoted_line *out, size_t max)
{
    return tc_compare_quote_around(c, d, 0, out, max);
}

/* ---- in a terminal --------------------------------------------------------------------------- */

#define RED   "\033[31m"
#define GREEN "\033[32m"
#define FAINT "\033[2m"
#define RESET "\033[0m"

/* A hunk is quoted up to so many lines; of those in a row that one script has alone, so many are
 * printed. */
#define MAX_QUOTE 64
#define MAX_ROW   6

/* Blanks that begin all of the lines. */
static size_t common_indent(const struct tc_quoted_line *lines, size_t n)
{
    size_t indent = SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        size_t blanks = 0;
        while (blanks < lines[i].line->size && lines[i].line->text[blanks] == ' ')
            blanks++;
        if (blanks < lines[i].line->size && blanks < indent)
            indent = blanks;
    }
    return indent == SIZE_MAX ? 0 : indent;
}

/* A line that is too long goes on below, four columns further in. */
static void print_line(const struct tc_quoted_line *line, size_t indent, struct tc_strbuf *out)
{
    struct tc_strbuf label = TC_STRBUF_INIT, text = TC_STRBUF_INIT;
    size_t begin = indent < line->line->size ? indent : line->line->size;

    tc_strbuf_addf(&label, "  %c %4zu  ", line->sign, line->number);
    for (; begin < line->line->size && line->line->text[begin] == ' '; begin++)
        tc_strbuf_addc(&label, ' ');
    tc_strbuf_add(&text, line->line->text + begin, line->line->size - begin);
    if (label.size + tc_fold_columns(text.text, text.size) <= TC_FOLD_WIDTH) {
        tc_fold_add(out, label.text, label.size);
        tc_fold_add(out, text.text, text.size);
        tc_strbuf_addc(out, '\n');
    } else {
        tc_fold_behind(out, label.text, label.size + 4, text.text);
    }
    tc_strbuf_release(&label);
    tc_strbuf_release(&text);
}

/* Lines of one sign in a row, from line i on. */
static size_t size_of_row(const struct tc_quoted_line *lines, size_t i, size_t n)
{
    size_t size = 1;

    while (i + size < n && lines[i + size].sign == lines[i].sign)
        size++;
    return size;
}

/* The line of each script that the difference is of; 0: none. */
struct focus {
    size_t a, b;
};

static size_t number_at(const char *at)
{
    size_t number = 0;

    return tc_place_split(at, &number) ? number : 0;
}

static struct focus focus_of(const struct tc_comparison *c, const struct tc_difference *d)
{
    const struct tc_edited_lines *e = &d->edited;

    if (e->script_a || e->script_b)
        return (struct focus){e->script_a ? e->line_a + 1 : 0, e->script_b ? e->line_b + 1 : 0};
    return (struct focus){number_at(tc_compare_at_reference(c, d)),
                          number_at(tc_compare_at_run(c, d))};
}

static void print_rest(char sign, size_t n, struct tc_strbuf *out)
{
    if (n)
        tc_strbuf_addf(out, "  %c       and %zu more line%s\n", sign, n, n == 1 ? "" : "s");
}

/* The first of the lines that are printed: the line of the difference is among them, with one below
 * it. */
static size_t first_shown(const struct tc_quoted_line *lines, size_t n, size_t n_shown,
                          const struct focus *focus)
{
    const size_t number = lines->sign == '-' ? focus->a : focus->b;
    const size_t last = lines[n_shown - 1].number;

    if (number < last || number > lines[n - 1].number || n == n_shown)
        return 0;
    return number + 1 - last < n - n_shown ? number + 1 - last : n - n_shown;
}

static void print_row(const struct tc_quoted_line *lines, size_t n, size_t indent,
                      const struct focus *focus, bool color, struct tc_strbuf *out)
{
    const size_t n_shown = n > MAX_ROW + 1 ? MAX_ROW : n;
    const size_t first = first_shown(lines, n, n_shown, focus);

    if (color)
        tc_strbuf_adds(out, lines->sign == '-' ? RED : lines->sign == '+' ? GREEN : FAINT);
    print_rest(lines->sign, first, out);
    for (size_t i = 0; i < n_shown; i++)
        print_line(&lines[first + i], indent, out);
    print_rest(lines->sign, n - n_shown - first, out);
    if (color)
        tc_strbuf_adds(out, RESET);
}

void tc_compare_print_quote(const struct tc_comparison *c, const struct tc_difference *d,
                            bool color, struct tc_strbuf *out)
{
    struct tc_quoted_line lines[MAX_QUOTE];
    const struct focus focus = focus_of(c, d);
    size_t n = tc_compare_quote(c, d, lines, MAX_QUOTE);
    size_t indent = common_indent(lines, n);

    for (size_t i = 0, size; i < n; i += size) {
        size = size_of_row(lines, i, n);
        print_row(&lines[i], size, indent, &focus, color, out);
    }
}
