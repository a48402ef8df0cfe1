/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shorthand.c - finds the marks, and writes digits in their places
 */
#include "collect/agent/say/shorthand.h"

/* What ends a line here stands in no number. Up to there, if there is enough. */
static size_t size_of_text(const struct tc_strbuf *out, size_t enough, const char *text,
                           size_t size, bool *is_enough)
{
    const char *end = out->size >= enough ? memchr(text, '\n', size) : NULL;

    *is_enough = end != NULL;
    return end ? (size_t)(end - text) + 1 : size;
}

size_t tc_shorthand_write_out(struct tc_strbuf *out, const char *lines, size_t size, size_t enough)
{
    const char *const end = lines + size;
    const char *at = lines;
    bool is_enough = false;

    while (at < end && !is_enough) {
        const char *mark = memchr(at, TC_SHORTHAND_MARK, (size_t)(end - at));
        const size_t n =
            size_of_text(out, enough, at, (size_t)((mark ? mark : end) - at), &is_enough);
        int64_t number;

        tc_strbuf_add(out, at, n);
        at += n;
        if (is_enough || at != mark)
            continue;
        memcpy(&number, mark + 1, sizeof(number));
        tc_strbuf_add_int(out, number);
        at += TC_SHORTHAND_SIZE;
    }
    return (size_t)(at - lines);
}
