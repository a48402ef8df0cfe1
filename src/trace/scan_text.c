/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_text.c - strings and numbers of JSON text
 *
 * Fast paths first: eight bytes of a string at a time, integers of few digits in one loop,
 * doubles by one rounded operation where that is exact. A string without an escape is borrowed
 * from the line; one with escapes is copied into the arena. All text must be UTF-8.
 */
#include "trace/scan_text.h"

#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

bool tc_text_fail(struct tc_text *t, const char *expected)
{
    size_t at = (size_t)(t->p - t->begin) + 1;

    if (t->p == t->end)
        tc_error_set(t->err, TC_E_FORMAT, "byte %zu: expected %s, the line ends", at, expected);
    else if (*t->p > 0x20 && *t->p < 0x7f)
        tc_error_set(t->err, TC_E_FORMAT, "byte %zu: expected %s, not '%c'", at, expected, *t->p);
    else
        tc_error_set(t->err, TC_E_FORMAT, "byte %zu: expected %s, not 0x%02x", at, expected,
                     (unsigned char)*t->p);
    return false;
}

#define EACH_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/*
 * Bytes at p up to the first that is a quote, a backslash, a control character
 * or not ASCII. Eight at a time: x - 1 borrows where a byte is 0, x - 0x20
 * where it is below 0x20; borrows only spoil bytes behind the first hit.
 */
static inline const char *skip_plain(const char *p, const char *end)
{
    for (; end - p >= 8; p += 8) {
        uint64_t v, hit;

        memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        v = __builtin_bswap64(v);
#endif
        hit = (v - EACH_BYTE(0x20)) | ((v ^ EACH_BYTE('"')) - EACH_BYTE(1)) |
              ((v ^ EACH_BYTE('\\')) - EACH_BYTE(1)) | v;
        hit &= EACH_BYTE(0x80);
        if (hit)
            return p + __builtin_ctzll(hit) / 8;
    }
    while (p < end && (unsigned char)(*p - 0x20) < 0x60 && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Four hex digits at t->p. */
static bool scan_hex4(struct tc_text *t, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, t->p++) {
        unsigned char c = t->p < t->end ? (unsigned char)*t->p : 0, lower = c | 0x20;

        if (c >= '0' && c <= '9')
            *code = *code << 4 | (c - (uint32_t)'0');
        else if (lower >= 'a' && lower <= 'f')
            *code = *code << 4 | (lower - (uint32_t)'a' + 10);
        else
            return tc_text_fail(t, "a hex digit");
    }
    return true;
}

/* Behind "\u"; halves of surrogate pairs are no characters on their own. */
static bool scan_code(struct tc_text *t, uint32_t *code)
{
    uint32_t low;

    if (!scan_hex4(t, code))
        return false;
    if (*code < 0xd800 || *code > 0xdfff)
        return true;
    if (*code > 0xdbff || t->end - t->p < 2 || t->p[0] != '\\' || t->p[1] != 'u')
        return tc_text_fail(t, "a pair of surrogates");
    t->p += 2;
    if (!scan_hex4(t, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return tc_text_fail(t, "a pair of surrogates");
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* The escape at t->p, behind its backslash, to *to. */
static bool scan_escape(struct tc_text *t, char **to)
{
    static const char from[] = "\"\\/bfnrt", becomes[] = "\"\\/\b\f\n\r\t";
    const char *at = memchr(from, *t->p, sizeof(from) - 1);
    uint32_t code;

    if (at) {
        *(*to)++ = becomes[at - from];
        t->p++;
        return true;
    }
    if (*t->p != 'u')
        return tc_text_fail(t, "an escape");
    t->p++;
    if (!scan_code(t, &code))
        return false;
    *to += tc_utf8_put(code, *to);
    return true;
}

/* The string from begin to the quote at end; an escape is never shorter than what it stands for. */
static bool unescape(struct tc_text *t, const char *begin, const char *end, struct tc_arena *arena,
                     struct tc_str *out)
{
    struct tc_text inner = {t->begin, begin, t->end, t->err};
    char *text = tc_arena_alloc(arena, (size_t)(end - begin)), *to = text;

    while (inner.p < end) {
        const char *escape = memchr(inner.p, '\\', (size_t)(end - inner.p));
        size_t plain = (size_t)((escape ? escape : end) - inner.p);

        memcpy(to, inner.p, plain);
        to += plain;
        inner.p += plain + 1;
        if (escape && !scan_escape(&inner, &to))
            return false;
    }
    *out = (struct tc_str){text, (uint32_t)(to - text)};
    return true;
}

/* t->p is at a byte that is not plain: over a character or an escape, if it is one. */
static bool skip_special(struct tc_text *t)
{
    size_t size;

    if (t->p == t->end)
        return tc_text_fail(t, "'\"'");
    if ((unsigned char)*t->p < 0x20)
        return tc_text_fail(t, "no control character in a string");
    if (*t->p == '\\') {
        t->p += t->end - t->p > 1 ? 2 : 1;
        return true;
    }
    size = tc_utf8_size(t->p, t->end);
    if (!size)
        return tc_text_fail(t, "UTF-8");
    t->p += size;
    return true;
}

bool tc_text_string(struct tc_text *t, struct tc_arena *arena, struct tc_str *out)
{
    const char *begin = t->p;
    bool has_escape = false;

    while (t->p = skip_plain(t->p, t->end), t->p == t->end || *t->p != '"') {
        has_escape |= t->p < t->end && *t->p == '\\';
        if (!skip_special(t))
            return false;
    }
    *out = (struct tc_str){begin, (uint32_t)(t->p - begin)};
    if (has_escape && !unescape(t, begin, t->p, arena, out))
        return false;
    t->p++;
    return true;
}

/* A number as it is read: mantissa * 10^exponent, unless it has more than MAX_DIGITS. */
struct number {
    uint64_t mantissa;
    int64_t exponent;
    unsigned digits; /* of the mantissa, from the first that is not 0 */
    bool is_integer;
};

#define MAX_DIGITS 19 /* 10^19 fits uint64 */

static inline bool is_digit(const struct tc_text *t)
{
    return t->p < t->end && *t->p >= '0' && *t->p <= '9';
}

/* At least one digit into the mantissa; how many. */
static inline int64_t scan_digits(struct tc_text *t, struct number *n)
{
    const char *first = t->p;

    for (; is_digit(t); t->p++) {
        if (n->digits <= MAX_DIGITS)
            n->digits += n->digits || *t->p != '0';
        if (n->digits <= MAX_DIGITS)
            n->mantissa = n->mantissa * 10 + (uint64_t)(*t->p - '0');
    }
    return t->p - first;
}

static bool scan_exponent(struct tc_text *t, struct number *n)
{
    bool minus;
    int64_t e = 0;

    t->p++;
    minus = t->p < t->end && *t->p == '-';
    t->p += t->p < t->end && (*t->p == '-' || *t->p == '+');
    if (!is_digit(t))
        return tc_text_fail(t, "a digit");
    for (; is_digit(t); t->p++)
        if (e < 100000) /* far beyond any double */
            e = e * 10 + (*t->p - '0');
    n->exponent += minus ? -e : e;
    return true;
}

static bool scan_parts(struct tc_text *t, struct number *n)
{
    if (t->p < t->end && *t->p == '0')
        t->p++; /* no digit may follow */
    else if (!scan_digits(t, n))
        return tc_text_fail(t, "a value");
    if (t->p < t->end && *t->p == '.') {
        t->p++;
        n->is_integer = false;
        n->exponent = -scan_digits(t, n);
        if (!n->exponent)
            return tc_text_fail(t, "a digit");
    }
    if (t->p < t->end && (*t->p | 0x20) == 'e') {
        n->is_integer = false;
        return scan_exponent(t, n);
    }
    return true;
}

/*
 * Clinger's fast path: mantissas up to 2^53 and powers of ten up to 10^22 are
 * exact doubles, so one correctly rounded operation gives the nearest double.
 */
static bool make_float(const struct number *n, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double mantissa = (double)n->mantissa;

    if (n->digits > MAX_DIGITS || n->mantissa > UINT64_C(1) << 53 || n->exponent < -22 ||
        n->exponent > 22)
        return false;
    *out = n->exponent < 0 ? mantissa / powers[-n->exponent] : mantissa * powers[n->exponent];
    return true;
}

/* An integer of few digits, as nearly all numbers are; false, and nothing taken, if it is another
 * number or none. */
static inline bool scan_short_integer(struct tc_text *t, struct tc_value *out)
{
    const char *p = t->p + (*t->p == '-'), *first = p;
    const char *limit = t->end - p > 18 ? p + 18 : t->end; /* 10^18 fits int64 */
    int64_t n = 0;

    for (; p < limit && *p >= '0' && *p <= '9'; p++)
        n = n * 10 + (*p - '0');
    if (p == first || p == limit || *p == '.' || (*p | 0x20) == 'e' ||
        (*first == '0' && p - first > 1))
        return false;
    out->kind = TC_VALUE_INT;
    out->n = 0;
    out->integer = *t->p == '-' ? -n : n;
    t->p = p;
    return true;
}

bool tc_text_number(struct tc_text *t, struct tc_value *out)
{
    if (scan_short_integer(t, out))
        return true;
    struct number n = {.is_integer = true};
    const char *begin = t->p;
    bool minus = *begin == '-';
    uint64_t limit = (uint64_t)INT64_MAX + minus;
    double number;

    t->p += minus;
    if (!scan_parts(t, &n))
        return false;
    if (n.is_integer && n.digits <= MAX_DIGITS && n.mantissa <= limit) {
        out->kind = TC_VALUE_INT;
        out->n = 0;
        out->integer = (int64_t)(minus ? -n.mantissa : n.mantissa);
        return true;
    }
    if (make_float(&n, &number))
        number = minus ? -number : number;
    else
        number = tc_number_parse(begin, (size_t)(t->p - begin));
    *out = (struct tc_value){.kind = TC_VALUE_FLOAT, .number = number};
    return true;
}
