/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strbuf.h - a growing text
 */
#ifndef TC_BASE_STRBUF_H
#define TC_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <traincheck/error.h>

struct tc_strbuf {
    char *text; /* zero-terminated once anything was added, else NULL */
    size_t size, cap;
};

#define TC_STRBUF_INIT \
    {                  \
        0              \
    }

void tc_strbuf_release(struct tc_strbuf *buf);
void tc_strbuf_reset(struct tc_strbuf *buf); /* empty, keeps its memory */
void tc_strbuf_reserve(struct tc_strbuf *buf, size_t more);

/* Inline, as what is packed of a call comes in pieces of a few bytes. */
static inline void tc_strbuf_add(struct tc_strbuf *buf, const void *data, size_t size)
{
    if (size >= buf->cap - buf->size)
        tc_strbuf_reserve(buf, size);
    if (size)
        memcpy(buf->text + buf->size, data, size);
    buf->size += size;
    buf->text[buf->size] = '\0';
}

static inline void tc_strbuf_adds(struct tc_strbuf *buf, const char *text)
{
    tc_strbuf_add(buf, text, strlen(text));
}

static inline void tc_strbuf_addc(struct tc_strbuf *buf, char c)
{
    tc_strbuf_add(buf, &c, 1);
}

TC_PRINTF(2, 3)
void tc_strbuf_addf(struct tc_strbuf *buf, const char *fmt, ...);
TC_PRINTF(2, 0)
void tc_strbuf_addv(struct tc_strbuf *buf, const char *fmt, va_list args);
void tc_strbuf_add_int(struct tc_strbuf *buf, int64_t n);
/* A JSON string with its quotes, as TC_SAFE_JSON of base/safe.h; U+2028 and U+2029 are escaped,
 * too, bytes that are not UTF-8 replaced by U+FFFD. */
void tc_strbuf_add_json(struct tc_strbuf *buf, const char *text, size_t size);
/* The text ("" if nothing was added); the caller owns it and buf is empty again. */
char *tc_strbuf_take(struct tc_strbuf *buf);

#endif /* TC_BASE_STRBUF_H */
