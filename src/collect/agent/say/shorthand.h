/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shorthand.h - numbers in a line that the writing thread makes digits of
 *
 * A record of a call has half a dozen numbers of up to fifteen digits, and to make these took a
 * tenth of what a traced call executes. So whoever trains writes the number as it is, behind a byte
 * that stands in no JSON. Any byte may follow: a line in shorthand is no text until it is written
 * out.
 */
#ifndef TC_COLLECT_SHORTHAND_H
#define TC_COLLECT_SHORTHAND_H

#include <stdbool.h>

#include "base/strbuf.h"

#define TC_SHORTHAND_MARK '\x01'
#define TC_SHORTHAND_SIZE (1 + sizeof(int64_t))
/* In a constant text: a number that is to be set. */
#define TC_SHORTHAND_NOUGHT "\x01\0\0\0\0\0\0\0\0"

/* Only in a line, which goes to the sink. */
static inline void tc_shorthand_add_int(struct tc_strbuf *line, int64_t n)
{
    if (TC_SHORTHAND_SIZE >= line->cap - line->size)
        tc_strbuf_reserve(line, TC_SHORTHAND_SIZE);
    line->text[line->size] = TC_SHORTHAND_MARK;
    memcpy(line->text + line->size + 1, &n, sizeof(n));
    line->size += TC_SHORTHAND_SIZE;
    line->text[line->size] = '\0';
}

/* Replace the number that stands there. */
static inline void tc_shorthand_set_int(struct tc_strbuf *line, size_t at, int64_t n)
{
    memcpy(line->text + at + 1, &n, sizeof(n));
}

/* Append lines with their numbers in digits, up to the end of the one with which there are `enough`
 * bytes; says how much of them that is. */
size_t tc_shorthand_write_out(struct tc_strbuf *out, const char *lines, size_t size, size_t enough);

#endif /* TC_COLLECT_SHORTHAND_H */
