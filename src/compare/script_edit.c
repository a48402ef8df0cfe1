/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_edit.c - hunks of the sources' diff, and sets of words
 */
#include "compare/script_edit.h"

#include <ctype.h>
#include <string.h>

#include "base/hash.h"
#include "compare/diff.h"

/* ---- hunks ----------------------------------------------------------------------------------- */

struct tc_script_edit tc_script_edit_at(const struct tc_script *script, size_t line, bool is_run)
{
    if (!script || !script->match || script->match[line] != TC_UNMATCHED)
        return (struct tc_script_edit){0};
    return (struct tc_script_edit){is_run ? script->other : script, is_run ? script : script->other,
                                   tc_script_hunk(script, line, is_run)};
}

/* A line that prints, and does nothing else. */
static bool is_print(const struct tc_script_line *line)
{
    size_t i = 0;

    while (i < line->size && line->text[i] == ' ')
        i++;
    return line->size - i > 6 && !memcmp(line->text + i, "print(", 6);
}

/* The first line that may matter of those that the other script does not have, from line `from` on,
 * before one that it has; n_lines: there is none. */
static size_t first_code(const struct tc_script *script, size_t from)
{
    for (; from < script->n_lines && script->match[from] == TC_UNMATCHED; from++)
        if (script->lines[from].is_code && !is_print(&script->lines[from]))
            return from;
    return script->n_lines;
}

static void visit(const struct tc_script *a, size_t from_a, const struct tc_script *b,
                  size_t from_b, tc_script_edit_fn *fn, void *context)
{
    const size_t line_a = first_code(a, from_a), line_b = first_code(b, from_b);
    const struct tc_script_edit edit = {a, b, from_a};
    const struct tc_edited_lines lines = {.script_a = line_a < a->n_lines ? a : NULL,
                                          .script_b = line_b < b->n_lines ? b : NULL,
                                          .line_a = line_a,
                                          .line_b = line_b};

    if (lines.script_a || lines.script_b)
        fn(context, &edit, &lines);
}

/* Hunks begin at the begin of both files, and behind each line that both have. */
void tc_script_edits_each(const struct tc_scripts *run, tc_script_edit_fn *fn, void *context)
{
    for (size_t i = 0; i < run->items.n; i++) {
        const struct tc_script *b = run->items.items[i], *a = b->other;
        if (!a || !a->match || !b->match)
            continue;
        visit(a, 0, b, 0, fn, context);
        for (size_t k = 0; k < a->n_lines; k++)
            if (a->match[k] != TC_UNMATCHED)
                visit(a, k + 1, b, a->match[k] + 1, fn, context);
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

enum {
    OF_A = 1,
    OF_B = 2
};

static void add_words(struct tc_map *words, const struct tc_script_line *line, unsigned side)
{
    for (size_t i = 0, n; i < line->size; i += n ? n : 1) {
        bool is_new;
        for (n = 0; i + n < line->size && tc_script_is_in_word(line->text[i + n]); n++)
            ;
        if (n > 1 && !isdigit((unsigned char)line->text[i]))
            *tc_map_at(words, tc_hash64(line->text + i, n, 0), &is_new) |= side;
    }
}

static void add_side(struct tc_map *words, const struct tc_script *script, size_t hunk, bool is_run)
{
    for (size_t i = 0; i < script->n_lines; i++)
        if (script->match[i] == TC_UNMATCHED && tc_script_hunk(script, i, is_run) == hunk &&
            script->lines[i].is_code)
            add_words(words, &script->lines[i], is_run ? OF_B : OF_A);
}

struct tc_map tc_words_of_edit(const struct tc_script_edit *edit)
{
    struct tc_map sides = TC_MAP_INIT, words = TC_MAP_INIT;
    uint64_t word, side;

    add_side(&sides, edit->a, edit->hunk, false);
    add_side(&sides, edit->b, edit->hunk, true);
    for (size_t pos = 0; tc_map_each(&sides, &pos, &word, &side);)
        tc_map_put(&words, word, side == (OF_A | OF_B) ? TC_WORD_KEPT : TC_WORD_CHANGED);
    tc_map_release(&sides);
    return words;
}

void tc_words_of_text(struct tc_map *words, const char *text)
{
    const struct tc_script_line line = {.text = text, .size = (uint32_t)strlen(text)};

    add_words(words, &line, OF_B);
}

void tc_words_of_place(struct tc_map *words, const struct tc_scripts *scripts, const char *at)
{
    size_t line = 0;
    const struct tc_script *script = tc_scripts_at(scripts, at, &line);

    if (script)
        add_words(words, &script->lines[line], OF_B);
}

void tc_words_count(struct tc_map *counts, const struct tc_map *words)
{
    uint64_t word, one;
    bool is_new;

    for (size_t pos = 0; tc_map_each(words, &pos, &word, &one);)
        ++*tc_map_at(counts, word, &is_new);
}

struct tc_map tc_words_by_line(const struct tc_scripts *scripts)
{
    struct tc_map n_lines = TC_MAP_INIT;

    for (size_t i = 0; i < scripts->items.n; i++) {
        const struct tc_script *script = scripts->items.items[i];
        for (size_t k = 0; k < script->n_lines; k++) {
            struct tc_map words = TC_MAP_INIT;
            add_words(&words, &script->lines[k], OF_B);
            tc_words_count(&n_lines, &words);
            tc_map_release(&words);
        }
    }
    return n_lines;
}

double tc_words_share(const struct tc_map *edit, const struct tc_map *words,
                      const struct tc_map *n_lines)
{
    uint64_t word, weight, n, n_with;
    double sum = 0;

    for (size_t pos = 0; tc_map_each(edit, &pos, &word, &weight);)
        if (tc_map_get(words, word, &n))
            sum += (double)(weight * n) / (tc_map_get(n_lines, word, &n_with) ? (double)n_with : 1);
    return sum;
}
