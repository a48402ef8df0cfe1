/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_choice.c - the lines of a hunk as words, with one word for all that is written out
 *
 * Words are hashes. What is written out in a row is one, as in lists, and commas do not count:
 * "lr=1e-3," and "hidden=[64, 64]," are gone once a name is given to an argument.
 */
#include "compare/edit_choice.h"

#include <ctype.h>
#include <string.h>

#include "base/hash.h"
#include "compare/diff.h"

/* No hash is so small. */
enum {
    WRITTEN_OUT = 1,
    END_OF_LINE,
};

struct tokens {
    TC_VEC(uint64_t) items;
};

static uint64_t hash_of(const char *text, size_t size)
{
    return tc_hash64(text, size, 0) | (UINT64_C(1) << 32);
}

static uint64_t mark(char c)
{
    return hash_of(&c, 1);
}

static bool is_constant(const char *text, size_t size)
{
    return (size == 4 && (!memcmp(text, "True", 4) || !memcmp(text, "None", 4))) ||
           (size == 5 && !memcmp(text, "False", 5));
}

/* A text between quotes; without its end it goes as far as the line. */
static size_t size_of_text(const char *text, size_t size)
{
    size_t n = 1;

    while (n < size && text[n] != text[0])
        n += text[n] == '\\' ? 2 : 1;
    return n < size ? n + 1 : size;
}

/* 1e-3, 0.5 and 1_000. */
static size_t size_of_number(const char *text, size_t size)
{
    size_t n = 1;

    while (n < size && (tc_script_is_in_word(text[n]) || text[n] == '.' ||
                        (strchr("+-", text[n]) && strchr("eE", text[n - 1]))))
        n++;
    return n;
}

static size_t size_of_name(const char *text, size_t size)
{
    size_t n = 1;

    while (n < size && tc_script_is_in_word(text[n]))
        n++;
    return n;
}

static size_t read_token(const char *text, size_t size, uint64_t *token)
{
    const bool is_point = size > 1 && text[0] == '.' && isdigit((unsigned char)text[1]);
    size_t n = 1;

    if (strchr("'\"", text[0])) {
        n = size_of_text(text, size);
        *token = WRITTEN_OUT;
    } else if (isdigit((unsigned char)text[0]) || is_point) {
        n = size_of_number(text, size);
        *token = WRITTEN_OUT;
    } else if (tc_script_is_in_word(text[0])) {
        n = size_of_name(text, size);
        *token = is_constant(text, n) ? WRITTEN_OUT : hash_of(text, n);
    } else {
        *token = mark(text[0]);
    }
    return n;
}

static void add_line(struct tokens *tokens, const struct tc_script_line *line)
{
    for (size_t i = 0; i < line->size && line->text[i] != '#';) {
        uint64_t token;
        if (isspace((unsigned char)line->text[i])) {
            i++;
            continue;
        }
        i += read_token(line->text + i, line->size - i, &token);
        tc_vec_push(&tokens->items, token);
    }
    tc_vec_push(&tokens->items, (uint64_t)END_OF_LINE);
}

static uint64_t token_at(const struct tokens *t, size_t i)
{
    return i < t->items.n ? t->items.items[i] : END_OF_LINE;
}

/* The one before i, on whichever line. */
static uint64_t token_before(const struct tokens *t, size_t i)
{
    while (i && t->items.items[i - 1] == END_OF_LINE)
        i--;
    return i ? t->items.items[i - 1] : END_OF_LINE;
}

/* Of a number, a text, or a list of them. */
static bool is_of_value(const struct tokens *t, size_t i)
{
    const uint64_t token = token_at(t, i);

    return token == WRITTEN_OUT || token == mark('-') || token == mark('[') || token == mark(']') ||
           (token == mark(',') && token_at(t, i + 1) == WRITTEN_OUT);
}

/* How many tokens from i on are "lr=1e-3" or "hidden=[64, 64]", given to an argument; 0: none. */
static size_t size_of_argument(const struct tokens *t, size_t i)
{
    const uint64_t before = token_before(t, i);
    size_t end = i + 2;

    if (token_at(t, i) == WRITTEN_OUT || token_at(t, i + 1) != mark('='))
        return 0;
    while (is_of_value(t, end))
        end++;
    const uint64_t after = token_at(t, end);
    const bool is_given = after == mark(',') || after == mark(')') ||
                          (after == END_OF_LINE && (before == mark('(') || before == mark(',')));
    return end > i + 2 && is_given ? end - i : 0;
}

static struct tokens tokens_of(const struct tc_script *script, size_t hunk, bool is_run)
{
    struct tokens all = {0}, left = {0};

    for (size_t i = 0; i < script->n_lines; i++)
        if (script->match[i] == TC_UNMATCHED && script->lines[i].is_code &&
            tc_script_hunk(script, i, is_run) == hunk)
            add_line(&all, &script->lines[i]);
    for (size_t i = 0; i < all.items.n;) {
        const size_t n = size_of_argument(&all, i);
        const uint64_t token = all.items.items[i],
                       last = left.items.n ? left.items.items[left.items.n - 1] : END_OF_LINE;
        i += n ? n : 1;
        if (!n && token != END_OF_LINE && token != mark(',') &&
            (token != WRITTEN_OUT || last != WRITTEN_OUT))
            tc_vec_push(&left.items, token);
    }
    tc_vec_release(&all.items);
    return left;
}

bool tc_edit_is_choice(const struct tc_script_edit *edit)
{
    struct tokens a = tokens_of(edit->a, edit->hunk, false),
                  b = tokens_of(edit->b, edit->hunk, true);
    const bool is_same =
        a.items.n == b.items.n &&
        (!a.items.n || !memcmp(a.items.items, b.items.items, a.items.n * sizeof(*a.items.items)));

    tc_vec_release(&a.items);
    tc_vec_release(&b.items);
    return is_same;
}
