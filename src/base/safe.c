/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe.c - text of others made safe for where it is shown
 */
#include "base/safe.h"

#include <string.h>

#include "base/utf8.h"

/* Would the character at p, which is after before (0: at the start), mark a command? */
static bool is_mark(const char *p, const char *end, char before)
{
    if (*p == '#')
        return before == '#';
    return *p == ':' && p + 1 < end && p[1] == ':' && (!before || before == ' ' || before == '\n');
}

static void add_github(struct tc_strbuf *out, const char *p, size_t size, bool is_property)
{
    static const char hex[] = "0123456789ABCDEF";
    unsigned char c = (unsigned char)*p;

    if (c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ',')))
        tc_strbuf_add(out, (char[]){'%', hex[c >> 4], hex[c & 15]}, 3);
    else
        tc_strbuf_add(out, p, size);
}

/* before: what is shown in front of the character, by which it may become a mark. */
static void add_to_log(struct tc_strbuf *out, enum tc_safe sink, const char *text, size_t size)
{
    const char *end = text + size;
    char before = '\0';

    for (size_t n; text < end; text += n ? n : 1) {
        n = tc_utf8_size(text, end);
        bool is_newline = sink != TC_SAFE_LINE && n == 1 && (*text == '\n' || *text == '\r');
        bool is_out = (tc_utf8_is_hidden(text, n) && !is_newline) || is_mark(text, end, before) ||
                      tc_utf8_is_separator(text, n);
        before = is_out ? '?' : is_newline ? '\n' : *text;
        if (is_out)
            tc_strbuf_addc(out, '?');
        else if (sink == TC_SAFE_LINE)
            tc_strbuf_add(out, text, n);
        else
            add_github(out, text, n, sink == TC_SAFE_GITHUB_PROPERTY);
    }
}

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    case '\t':
        return "&#9;";
    default:
        return NULL;
    }
}

/* XML 1.0 has no place at all for most control characters, nor for U+FFFE and U+FFFF. */
static void add_xml(struct tc_strbuf *out, const char *text, size_t size)
{
    const char *end = text + size;

    for (size_t n; text < end; text += n ? n : 1) {
        const char *entity = entity_of(*text);
        n = tc_utf8_size(text, end);
        bool is_none = n == 3 && !memcmp(text, "\xef\xbf", 2) && (unsigned char)text[2] >= 0xbe;
        if (entity)
            tc_strbuf_adds(out, entity);
        else if (is_none || tc_utf8_is_hidden(text, n))
            tc_strbuf_adds(out, "\xef\xbf\xbd");
        else
            tc_strbuf_add(out, text, n);
    }
}

/* Outside of strings JSON has no '<', which could end the element or begin a comment. */
static void add_script(struct tc_strbuf *out, const char *json, size_t size)
{
    const char *end = json + size, *next;

    for (; (next = memchr(json, '<', (size_t)(end - json))); json = next + 1) {
        tc_strbuf_add(out, json, (size_t)(next - json));
        tc_strbuf_adds(out, "\\u003c");
    }
    tc_strbuf_add(out, json, (size_t)(end - json));
}

void tc_safe_add(struct tc_strbuf *out, enum tc_safe sink, const char *text, size_t size)
{
    tc_strbuf_reserve(out, size);
    switch (sink) {
    case TC_SAFE_LINE:
    case TC_SAFE_GITHUB:
    case TC_SAFE_GITHUB_PROPERTY:
        add_to_log(out, sink, text, size);
        break;
    case TC_SAFE_XML:
        add_xml(out, text, size);
        break;
    case TC_SAFE_JSON:
        tc_strbuf_add_json(out, text, size);
        break;
    case TC_SAFE_SCRIPT:
        add_script(out, text, size);
        break;
    }
}

void tc_safe_adds(struct tc_strbuf *out, enum tc_safe sink, const char *text)
{
    tc_safe_add(out, sink, text, strlen(text));
}
