/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strbuf.c - a growing text
 *
 * The text ends with a NUL at any time. A JSON string is escaped so that a page and the log of a
 * CI service are safe with it, too.
 */
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "base/vec.h"

#define MAX_INT    20  /* characters of an int64_t */
#define FIRST_SIZE 128 /* bytes: most names and lines need no more */

void tc_strbuf_release(struct tc_strbuf *buf)
{
    tc_free(buf->text);
    *buf = (struct tc_strbuf)TC_STRBUF_INIT;
}

void tc_strbuf_reset(struct tc_strbuf *buf)
{
    buf->size = 0;
    if (buf->text)
        buf->text[0] = '\0';
}

void tc_strbuf_reserve(struct tc_strbuf *buf, size_t more)
{
    size_t need = buf->size + more + 1, cap = buf->cap ? buf->cap : FIRST_SIZE;

    if (need <= more)
        tc_out_of_memory();
    if (need <= buf->cap)
        return;
    while (cap < need)
        cap = cap * 2 > cap ? cap * 2 : need;
    buf->text = tc_realloc(buf->text, cap);
    buf->text[buf->size] = '\0';
    buf->cap = cap;
}

void tc_strbuf_addv(struct tc_strbuf *buf, const char *fmt, va_list args)
{
    va_list again;
    int size;

    va_copy(again, args);
    size = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (size < 0)
        return;
    tc_strbuf_reserve(buf, (size_t)size);
    vsnprintf(buf->text + buf->size, (size_t)size + 1, fmt, args);
    buf->size += (size_t)size;
}

void tc_strbuf_addf(struct tc_strbuf *buf, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tc_strbuf_addv(buf, fmt, args);
    va_end(args);
}

void tc_strbuf_add_int(struct tc_strbuf *buf, int64_t n)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[2 * MAX_INT] = {0}, *end = digits + MAX_INT, *p = end;
    uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;

    for (; rest >= 10; rest /= 100) {
        p -= 2;
        memcpy(p, pairs + rest % 100 * 2, 2);
    }
    if (rest || p == end)
        *--p = (char)('0' + rest);
    if (n < 0)
        *--p = '-';
    if (MAX_INT >= buf->cap - buf->size)
        tc_strbuf_reserve(buf, MAX_INT);
    memcpy(buf->text + buf->size, p, MAX_INT); /* all, as a constant size needs no call */
    buf->size += (size_t)(end - p);
    buf->text[buf->size] = '\0';
}

static void add_escape(struct tc_strbuf *buf, uint32_t code)
{
    static const char hex[] = "0123456789abcdef";
    const char text[] = {
        '\\', 'u', hex[code >> 12 & 15], hex[code >> 8 & 15], hex[code >> 4 & 15], hex[code & 15]};

    tc_strbuf_add(buf, text, sizeof(text));
}

/* The code of a character of two or three bytes. */
static uint32_t code_of(const char *p, size_t size)
{
    const uint8_t *u = (const uint8_t *)p;

    if (size == 2)
        return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
    return (u[0] & 0xfu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
}

/* The character at p, of size bytes, escaped if JSON, a script in HTML or a log needs it. */
static void add_json_char(struct tc_strbuf *buf, const char *p, size_t size)
{
    static const char escapes[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    unsigned char c = (unsigned char)*p;

    if (!size)
        tc_strbuf_adds(buf, "\xef\xbf\xbd");
    else if (c == '"' || c == '\\')
        tc_strbuf_add(buf, (char[]){'\\', *p}, 2);
    else if (c < 0x20 && escapes[c])
        tc_strbuf_add(buf, (char[]){'\\', escapes[c]}, 2);
    else if (c < 0x80)
        add_escape(buf, c);
    else if (tc_utf8_is_hidden(p, size) || tc_utf8_is_separator(p, size))
        add_escape(buf, code_of(p, size));
    else
        tc_strbuf_add(buf, p, size);
}

/* "##" marks commands in the logs of services that run CI jobs. */
static bool is_second(const char *text, const char *p)
{
    return p > text && p[-1] == '#';
}

/* 1: never escaped. Rows of 16 characters, up to 0x7f. */
static const unsigned char plain_chars[256] = {
    /* clang-format off */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0,
    /* clang-format on */
};

void tc_strbuf_add_json(struct tc_strbuf *buf, const char *text, size_t size)
{
    const char *p = text, *end = text + size, *plain = text;

    tc_strbuf_reserve(buf, size + 2);
    tc_strbuf_addc(buf, '"');
    while (p < end) {
        size_t n = 1;

        if (plain_chars[(unsigned char)*p] || (*p == '#' && !is_second(text, p))) {
            p++;
            continue;
        }
        tc_strbuf_add(buf, plain, (size_t)(p - plain));
        n = tc_utf8_size(p, end);
        add_json_char(buf, p, n);
        p += n ? n : 1;
        plain = p;
    }
    tc_strbuf_add(buf, plain, (size_t)(p - plain));
    tc_strbuf_addc(buf, '"');
}

char *tc_strbuf_take(struct tc_strbuf *buf)
{
    char *text = buf->text ? buf->text : tc_strdup("");

    *buf = (struct tc_strbuf)TC_STRBUF_INIT;
    return text;
}
