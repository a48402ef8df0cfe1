/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.c - a buffer of lines that may get another step, or be dropped, before they go on
 *
 * A step is written over in place, padded with blanks, so no line moves. A number with more digits
 * than the one it replaces is not put in. After tc_held_drop_calls() the rest can no longer be
 * relabelled.
 */
#include "collect/agent/say/held.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collect/agent/say/shorthand.h"

/* What is looked at again is written out. */
void tc_held_add(struct tc_held *held, const char *line, size_t size, size_t step_at)
{
    tc_shorthand_write_out(&held->lines, line, step_at, SIZE_MAX);
    if (step_at)
        tc_vec_push(&held->steps, held->lines.size);
    tc_shorthand_write_out(&held->lines, line + step_at, size - step_at, SIZE_MAX);
}

/* White space is allowed between JSON tokens: a shorter number is padded with it. */
static void relabel_at(char *digits, int64_t step)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)step);
    size_t width = strspn(digits, "0123456789");

    if (n < 0 || (size_t)n > width)
        return;
    memset(digits, ' ', width);
    memcpy(digits, text, (size_t)n);
}

void tc_held_relabel(struct tc_held *held, int64_t step)
{
    for (size_t i = 0; i < held->steps.n; i++)
        relabel_at(held->lines.text + held->steps.items[i], step);
}

static bool is_of_call(const char *line)
{
    static const char *const types[] = {"call", "return", "raise"};
    const char *type = line + strlen("{\"type\":\"");

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strncmp(type, types[i], strlen(types[i])) == 0)
            return true;
    return false;
}

uint64_t tc_held_drop_calls(struct tc_held *held)
{
    struct tc_strbuf *lines = &held->lines;
    uint64_t n_dropped = 0;
    size_t end = 0;

    for (size_t at = 0, size; at < lines->size; at += size) {
        char *line = lines->text + at;

        size = (size_t)((char *)memchr(line, '\n', lines->size - at) - line) + 1;
        if (is_of_call(line)) {
            n_dropped++;
            continue;
        }
        memmove(lines->text + end, line, size);
        end += size;
    }
    lines->size = end;
    held->steps.n = 0; /* the lines have moved */
    return n_dropped;
}

void tc_held_move(struct tc_held *held, struct tc_strbuf *to)
{
    if (held->lines.size)
        tc_strbuf_add(to, held->lines.text, held->lines.size);
    tc_strbuf_reset(&held->lines);
    held->steps.n = 0;
}

void tc_held_release(struct tc_held *held)
{
    tc_strbuf_release(&held->lines);
    tc_vec_release(&held->steps);
}
