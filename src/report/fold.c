/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.c - breaks text at blanks, counting columns by the first bytes of UTF-8
 *
 * A character counts as one column, which is wrong for wide ones and never harmful. Text of a
 * trace goes through tc_safe_add(), so no escape of a terminal gets out.
 */
#include "report/fold.h"

#include <stdbool.h>
#include <string.h>

#include "base/safe.h"

static bool is_continued(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t tc_fold_columns(const char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += !is_continued(text[i]);
    return n;
}

void tc_fold_add(struct tc_strbuf *out, const char *text, size_t size)
{
    tc_safe_add(out, TC_SAFE_LINE, text, size);
}

static void fold(struct tc_strbuf *out, size_t column, size_t indent, const char *text)
{
    for (bool first = true; *text; first = false) {
        size_t size = strcspn(text, " \n");
        size_t width = tc_fold_columns(text, size);
        if (!first && column + 1 + width > TC_FOLD_WIDTH) {
            tc_strbuf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            tc_strbuf_addc(out, ' ');
            column++;
        }
        tc_fold_add(out, text, size);
        column += width;
        text += size + strspn(text + size, " \n");
    }
    tc_strbuf_addc(out, '\n');
}

void tc_fold(struct tc_strbuf *out, const char *label, const char *text)
{
    const size_t indent = TC_FOLD_INDENT + tc_fold_columns(label, strlen(label));

    if (!*text)
        return;
    tc_strbuf_addf(out, "%*s%s", TC_FOLD_INDENT, "", label);
    fold(out, indent, indent, text);
}

void tc_fold_behind(struct tc_strbuf *out, const char *label, size_t indent, const char *text)
{
    tc_fold_add(out, label, strlen(label));
    fold(out, tc_fold_columns(label, strlen(label)), indent, text);
}
