/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shorthand.c - finds the marks, and writes digits in their places
 */
#include "collect/agent/say/shorthand.h"

void tc_shorthand_write_out(struct tc_strbuf *out, const char *line, size_t size)
{
    const char *end = line + size, *mark;

    while ((mark = memchr(line, TC_SHORTHAND_MARK, (size_t)(end - line)))) {
        int64_t n;

        tc_strbuf_add(out, line, (size_t)(mark - line));
        memcpy(&n, mark + 1, sizeof(n));
        tc_strbuf_add_int(out, n);
        line = mark + TC_SHORTHAND_SIZE;
    }
    tc_strbuf_add(out, line, (size_t)(end - line));
}
