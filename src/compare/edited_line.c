/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edited_line.c - values of a difference, searched for in the hunks of the sources' diff
 *
 * Numbers are compared as numbers: 1e-3 is 0.001. Texts and classes are compared by their last
 * word.
 */
#include "compare/edited_line.h"

#include <ctype.h>
#include <string.h>

#include "base/number.h"
#include "compare/diff.h"
#include "replay/symbols.h"

/* What is searched for in a line. */
struct word {
    const char *text; /* NULL: nothing */
    size_t size;
    bool is_number;
    double number;
};

/* ---- words of a line ------------------------------------------------------------------------ */

/* A number may have a point, and a sign in its exponent: 0.1, 1e-3. */
static size_t size_of_word(const char *text, size_t size)
{
    const bool is_number = isdigit((unsigned char)text[0]);
    size_t n = 1;

    while (n < size && (tc_script_is_in_word(text[n]) || (is_number && text[n] == '.') ||
                        (is_number && strchr("+-", text[n]) && strchr("eE", text[n - 1]))))
        n++;
    return n;
}

static bool is_number(const char *text, size_t size, double *number)
{
    char plain[32];
    size_t n = 0;

    for (size_t i = 0; i < size && n + 1 < sizeof(plain); i++)
        if (text[i] != '_')
            plain[n++] = text[i];
    plain[n] = '\0';
    if (strspn(plain, "0123456789.eE+-") != n || !isdigit((unsigned char)plain[0]))
        return false;
    while (n > 1 && plain[n - 1] == '.')
        n--;
    *number = tc_number_parse(plain, n);
    return true;
}

static bool is_word(const struct word *word, const char *text, size_t size)
{
    double number;

    if (word->is_number)
        return is_number(text, size, &number) && number == word->number;
    return size == word->size && !memcmp(text, word->text, size);
}

static bool has_word(const struct tc_script_line *line, const struct word *word)
{
    for (size_t i = 0, n; i < line->size; i += n) {
        n = 1;
        if (!tc_script_is_in_word(line->text[i]))
            continue;
        n = size_of_word(line->text + i, line->size - i);
        if (is_word(word, line->text + i, n))
            return true;
    }
    return false;
}

/* ---- words of a difference --------------------------------------------------------------------
 */

/* A JSON value as Python spells it; texts, and classes by their last name. */
static struct word word_of_value(const char *json)
{
    struct word word = {0};

    if (!json)
        return word;
    if (!strcmp(json, "true") || !strcmp(json, "false") || !strcmp(json, "null")) {
        word.text = *json == 't' ? "True" : *json == 'f' ? "False" : "None";
        word.size = strlen(word.text);
        return word;
    }
    if (*json == '-')
        json++;
    word.text = json;
    word.size = strlen(json);
    if (*json == '"' && word.size > 2) {
        const char *end = json + word.size - 1, *begin = end;
        while (begin > json + 1 && tc_script_is_in_word(begin[-1]))
            begin--;
        word.text = begin;
        word.size = (size_t)(end - begin);
    } else {
        word.is_number = is_number(json, word.size, &word.number);
    }
    return word;
}

/* "dropout" of "args.dropout", "lr" of "optimizer.param_groups[0].lr" */
static struct word word_of_path(const char *path)
{
    size_t end = strlen(path), begin;

    while (end && !tc_script_is_in_word(path[end - 1]))
        end--;
    for (begin = end; begin && tc_script_is_in_word(path[begin - 1]); begin--)
        ;
    return (struct word){.text = path + begin, .size = end - begin};
}

/* "AdamW" of a call of AdamW.step() */
static struct word word_of_site(const struct tc_comparison *c, uint32_t site)
{
    const char *name;

    if (site == TC_NO_SITE)
        return (struct word){0};
    const struct tc_call_site *s = &c->sites.items.items[site];
    name = tc_strtab_text(c->symbols, s->class);
    if (!*name)
        name = tc_short_name(tc_strtab_text(c->symbols, s->fn));
    return word_of_path(name);
}

/* ---- the search -------------------------------------------------------------------------------
 */

struct search {
    struct word is, was, name;
    int best;
    struct tc_edited_lines *out;
};

static bool is_given(const struct word *word)
{
    return word->text && word->size > 0;
}

/* One hunk: lines a to a_end of the one are gone, b to b_end of the other are new. */
static void search_hunk(struct search *s, const struct tc_script *a, const struct tc_script *b,
                        size_t from_a, size_t end_a, size_t from_b, size_t end_b)
{
    int of_a = 0, of_b = 0;
    size_t line_a = 0, line_b = 0;

    for (size_t i = from_a; i < end_a; i++) {
        const int n = (is_given(&s->was) && has_word(&a->lines[i], &s->was) ? 2 : 0) +
                      (is_given(&s->name) && has_word(&a->lines[i], &s->name));
        if (n > of_a) {
            of_a = n;
            line_a = i;
        }
    }
    for (size_t i = from_b; i < end_b; i++) {
        const int n = (is_given(&s->is) && has_word(&b->lines[i], &s->is) ? 2 : 0) +
                      (is_given(&s->name) && has_word(&b->lines[i], &s->name));
        if (n > of_b) {
            of_b = n;
            line_b = i;
        }
    }
    /* Both values, or one value and the name. */
    if (of_a + of_b <= s->best || of_a + of_b < 3 || (of_a < 2 && of_b < 2))
        return;
    s->best = of_a + of_b;
    *s->out = (struct tc_edited_lines){.script_a = of_a ? a : NULL,
                                       .script_b = of_b ? b : NULL,
                                       .line_a = line_a,
                                       .line_b = line_b};
}

static void search_scripts(struct search *s, const struct tc_script *a, const struct tc_script *b)
{
    size_t i = 0, k = 0;

    while (i < a->n_lines || k < b->n_lines) {
        const size_t from_a = i, from_b = k;
        while (i < a->n_lines && a->match[i] == TC_UNMATCHED)
            i++;
        while (k < b->n_lines && b->match[k] == TC_UNMATCHED)
            k++;
        if (i > from_a || k > from_b)
            search_hunk(s, a, b, from_a, i, from_b, k);
        i += i < a->n_lines;
        k += k < b->n_lines;
    }
}

static bool is_edited(const struct tc_comparison *c, const struct tc_scripts *scripts,
                      uint32_t site)
{
    size_t line;
    const struct tc_script *script =
        site == TC_NO_SITE
            ? NULL
            : tc_scripts_at(scripts, tc_strtab_text(c->symbols, c->sites.items.items[site].at),
                            &line);

    return script && script->match && script->match[line] == TC_UNMATCHED;
}

void tc_edited_lines_find(const struct tc_comparison *c, struct tc_difference *d)
{
    struct search s = {.out = &d->edited};

    d->edited.is_place =
        is_edited(c, &c->reference.scripts, d->site_a) || is_edited(c, &c->run.scripts, d->site_b);
    if (d->edited.is_place)
        return;
    if (d->kind == TC_DIFFERENCE_ARGUMENTS) {
        s.is = word_of_value(d->is);
        s.was = word_of_value(d->was);
        s.name = word_of_path(tc_strtab_text(c->symbols, d->path));
    } else if (d->kind == TC_DIFFERENCE_CALLS) {
        s.is = word_of_site(c, d->site_b);
        s.was = word_of_site(c, d->site_a);
    } else {
        return;
    }
    for (size_t i = 0; i < c->reference.scripts.items.n; i++) {
        const struct tc_script *a = c->reference.scripts.items.items[i];
        if (a->match)
            search_scripts(&s, a, a->other);
    }
}
