/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_text.c - sources as lines, paired by name and by what they say
 */
#include "compare/script_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "compare/diff.h"

/* Files that have no name in common are one file where so large a part of their lines is the same.
 */
#define SAME_FILE 0.5

/* ---- reading ------------------------------------------------------------------------------- */

static size_t n_lines_of(const char *text, size_t size)
{
    size_t n = size && text[size - 1] != '\n';

    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n';
    return n;
}

static uint32_t number_of_line(const char *text, size_t size)
{
    while (size && strchr(" \t\r", text[size - 1]))
        size--;
    return (uint32_t)tc_hash64(text, size, 0);
}

/* How many times the line opens or closes a text of several lines. */
static unsigned n_marks(const char *text, size_t size)
{
    unsigned n = 0;

    for (size_t i = 0; i + 2 < size; i++)
        if (!memcmp(text + i, "\"\"\"", 3) || !memcmp(text + i, "'''", 3)) {
            n++;
            i += 2;
        }
    return n;
}

static bool is_blank_or_comment(const char *text, size_t size)
{
    size_t at = 0;

    while (at < size && isspace((unsigned char)text[at]))
        at++;
    return at == size || text[at] == '#';
}

static void split(struct tc_scripts *scripts, struct tc_script *script, const char *text,
                  size_t size)
{
    size_t begin = 0;
    bool is_open = false; /* a text of several lines */

    script->n_lines = n_lines_of(text, size);
    script->lines = tc_arena_alloc(&scripts->arena, (script->n_lines + 1) * sizeof(*script->lines));
    for (size_t i = 0; i < script->n_lines; i++) {
        const char *end = memchr(text + begin, '\n', size - begin);
        size_t n = end ? (size_t)(end - text) - begin : size - begin;
        const unsigned marks = n_marks(text + begin, n);
        script->lines[i] = (struct tc_script_line){
            .text = text + begin,
            .size = (uint32_t)n,
            .number = number_of_line(text + begin, n),
            .is_code = !is_open && !marks && !is_blank_or_comment(text + begin, n),
        };
        is_open ^= marks & 1;
        begin += n + 1;
    }
}

void tc_scripts_add(struct tc_scripts *scripts, const struct tc_record *record)
{
    struct tc_script *script = tc_scripts_find(scripts, record->at.text, record->at.size);

    if (script && (script->lines || !record->text.text))
        return;
    if (!script) {
        script = tc_arena_zalloc(&scripts->arena, sizeof(*script));
        tc_vec_push(&scripts->items, script);
    }
    script->at = tc_arena_text(&scripts->arena, record->at.text, record->at.size);
    script->digest = tc_arena_text(&scripts->arena, record->digest.text ? record->digest.text : "",
                                   record->digest.size);
    if (record->text.text)
        split(scripts, script, tc_arena_text(&scripts->arena, record->text.text, record->text.size),
              record->text.size);
}

void tc_scripts_release(struct tc_scripts *scripts)
{
    for (size_t i = 0; i < scripts->items.n; i++)
        tc_free(scripts->items.items[i]->match);
    tc_vec_release(&scripts->items);
    tc_arena_release(&scripts->arena);
}

struct tc_script *tc_scripts_find(const struct tc_scripts *scripts, const char *at, size_t size)
{
    for (size_t i = 0; i < scripts->items.n; i++) {
        struct tc_script *script = scripts->items.items[i];
        if (!strncmp(script->at, at, size) && !script->at[size])
            return script;
    }
    return NULL;
}

size_t tc_place_split(const char *at, size_t *line)
{
    const char *colon = strrchr(at, ':');
    char *end;

    *line = 0;
    if (!colon || colon == at || colon[1] < '0' || colon[1] > '9')
        return 0;
    *line = strtoul(colon + 1, &end, 10);
    return *end || !*line ? 0 : (size_t)(colon - at);
}

bool tc_script_is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* ---- pairing ------------------------------------------------------------------------------- */

static void diff_lines(const struct tc_script *a, const struct tc_script *b, size_t *match)
{
    uint32_t *numbers = tc_malloc((a->n_lines + b->n_lines + 1) * sizeof(*numbers));

    for (size_t i = 0; i < a->n_lines; i++)
        numbers[i] = a->lines[i].number;
    for (size_t i = 0; i < b->n_lines; i++)
        numbers[a->n_lines + i] = b->lines[i].number;
    tc_diff(numbers, a->n_lines, numbers + a->n_lines, b->n_lines, match);
    tc_free(numbers);
}

static void turn(const size_t *match, size_t n, size_t *other, size_t n_other)
{
    for (size_t i = 0; i < n_other; i++)
        other[i] = TC_UNMATCHED;
    for (size_t i = 0; i < n; i++)
        if (match[i] != TC_UNMATCHED)
            other[match[i]] = i;
}

static void pair(struct tc_script *a, struct tc_script *b)
{
    a->other = b;
    b->other = a;
    if (!a->lines || !b->lines)
        return;
    a->match = tc_malloc((a->n_lines + 1) * sizeof(*a->match));
    b->match = tc_malloc((b->n_lines + 1) * sizeof(*b->match));
    diff_lines(a, b, a->match);
    turn(a->match, a->n_lines, b->match, b->n_lines);
}

static bool is_same_name(const struct tc_script *a, const struct tc_script *b)
{
    return !strcmp(a->at, b->at);
}

static bool is_same_base(const struct tc_script *a, const struct tc_script *b)
{
    return !strcmp(tc_fs_base(a->at), tc_fs_base(b->at));
}

/* match: of the lines of a. */
static bool are_most(const struct tc_script *a, const struct tc_script *b, const size_t *match)
{
    size_t n = 0, n_code = 0;

    for (size_t i = 0; i < a->n_lines; i++) {
        n_code += a->lines[i].is_code;
        n += a->lines[i].is_code && match[i] != TC_UNMATCHED;
    }
    for (size_t i = 0; i < b->n_lines; i++)
        n_code += b->lines[i].is_code;
    return 2 * (double)n >= SAME_FILE * (double)n_code;
}

static bool is_alike(const struct tc_script *a, const struct tc_script *b)
{
    if (!a->lines || !b->lines || !a->n_lines || !b->n_lines)
        return false;
    size_t *match = tc_malloc(a->n_lines * sizeof(*match));

    diff_lines(a, b, match);
    const bool is = are_most(a, b, match);
    tc_free(match);
    return is;
}

static void pair_where(struct tc_scripts *a, struct tc_scripts *b,
                       bool (*is_same)(const struct tc_script *, const struct tc_script *))
{
    for (size_t i = 0; i < a->items.n; i++)
        for (size_t k = 0; k < b->items.n && !a->items.items[i]->other; k++)
            if (!b->items.items[k]->other && is_same(a->items.items[i], b->items.items[k]))
                pair(a->items.items[i], b->items.items[k]);
}

void tc_scripts_pair(struct tc_scripts *a, struct tc_scripts *b)
{
    pair_where(a, b, is_same_name);
    pair_where(a, b, is_same_base);
    if (a->items.n && b->items.n && !a->items.items[0]->other && !b->items.items[0]->other)
        pair(a->items.items[0], b->items.items[0]); /* the program itself is reported first */
    pair_where(a, b, is_alike);
}

bool tc_scripts_are_of_one_program(const struct tc_scripts *a, const struct tc_scripts *b)
{
    const struct tc_script *program = a->items.n && b->items.n ? b->items.items[0] : NULL;

    return program && program->other && program->match &&
           are_most(program, program->other, program->match);
}

void tc_scripts_unpair(struct tc_scripts *a)
{
    for (size_t i = 0; i < a->items.n; i++) {
        tc_free(a->items.items[i]->match);
        a->items.items[i]->match = NULL;
        a->items.items[i]->other = NULL;
    }
}

const struct tc_script *tc_scripts_at(const struct tc_scripts *scripts, const char *at,
                                      size_t *line)
{
    size_t size = tc_place_split(at, line);
    const struct tc_script *script = size ? tc_scripts_find(scripts, at, size) : NULL;

    if (!script || !script->lines || *line > script->n_lines)
        return NULL;
    *line -= 1;
    return script;
}

/* The last line before this one that the other file has; n_lines: there is none. */
static size_t last_common(const struct tc_script *script, size_t line)
{
    while (line > 0)
        if (script->match[--line] != TC_UNMATCHED)
            return line;
    return script->n_lines;
}

bool tc_script_is_same_hunk(const struct tc_script *a, size_t line_a, const struct tc_script *b,
                            size_t line_b)
{
    if (a->match[line_a] != TC_UNMATCHED || b->match[line_b] != TC_UNMATCHED)
        return a->match[line_a] == line_b;
    const size_t before_a = last_common(a, line_a), before_b = last_common(b, line_b);
    if (before_a == a->n_lines || before_b == b->n_lines)
        return before_a == a->n_lines && before_b == b->n_lines;
    return a->match[before_a] == before_b;
}

size_t tc_script_line_in_other(const struct tc_script *script, size_t line)
{
    if (script->match[line] != TC_UNMATCHED)
        return script->match[line];
    const size_t before = last_common(script, line);
    const size_t at = before == script->n_lines ? 0 : script->match[before] + 1;
    const size_t n = script->other->n_lines;
    return at < n ? at : n ? n - 1 : 0;
}

size_t tc_script_hunk(const struct tc_script *script, size_t line, bool is_run)
{
    const size_t before = last_common(script, line);

    if (before == script->n_lines)
        return 0;
    return (is_run ? script->match[before] : before) + 1;
}

bool tc_script_is_equal(const struct tc_script *script)
{
    return script->other && *script->digest && !strcmp(script->digest, script->other->digest);
}

size_t tc_script_n_changed(const struct tc_script *script)
{
    size_t n = 0;

    for (size_t i = 0; script->match && i < script->n_lines; i++)
        n += script->match[i] == TC_UNMATCHED;
    return n;
}
