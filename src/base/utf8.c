/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.c - UTF-8 by RFC 3629
 */
#include "base/utf8.h"

#include <string.h>

/* The second byte has a range of its own after some leads: table 3-7 of the Unicode standard. */
static bool is_second_ok(uint8_t lead, uint8_t second)
{
    switch (lead) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return (second & 0xc0) == 0x80;
    }
}

size_t tc_utf8_size(const char *p, const char *end)
{
    const uint8_t *u = (const uint8_t *)p;
    size_t size = u[0] < 0x80                    ? 1
                  : u[0] >= 0xc2 && u[0] <= 0xdf ? 2
                  : u[0] >= 0xe0 && u[0] <= 0xef ? 3
                  : u[0] >= 0xf0 && u[0] <= 0xf4 ? 4
                                                 : 0;

    if (size < 2)
        return size;
    if ((size_t)(end - p) < size || !is_second_ok(u[0], u[1]))
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

const char *tc_utf8_find_other(const char *p, const char *end)
{
    for (size_t n; p < end; p += n) {
        n = (unsigned char)*p < 0x80 ? 1 : tc_utf8_size(p, end);
        if (!n)
            return p;
    }
    return NULL;
}

size_t tc_utf8_put(uint32_t code, char out[4])
{
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(lead[size] | code);
    return size;
}

/* First and last bytes of the characters of two or three bytes that show nothing and steer. */
static const struct {
    const char *first, *last;
} hidden[] = {
    {"\xc2\x80",     "\xc2\x9f"    }, /* C1 */
    {"\xd8\x9c",     "\xd8\x9c"    }, /* U+061C */
    {"\xe2\x80\x8e", "\xe2\x80\x8f"}, /* U+200E, U+200F */
    {"\xe2\x80\xaa", "\xe2\x80\xae"}, /* U+202A to U+202E */
    {"\xe2\x81\xa6", "\xe2\x81\xa9"}, /* U+2066 to U+2069 */
};

bool tc_utf8_is_hidden(const char *p, size_t size)
{
    unsigned char c = (unsigned char)*p;

    if (size < 2)
        return !size || c < 0x20 || c == 0x7f;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        if (strlen(hidden[i].first) == size && memcmp(p, hidden[i].first, size) >= 0 &&
            memcmp(p, hidden[i].last, size) <= 0)
            return true;
    return false;
}

bool tc_utf8_is_separator(const char *p, size_t size)
{
    return size == 3 && (!memcmp(p, "\xe2\x80\xa8", 3) || !memcmp(p, "\xe2\x80\xa9", 3));
}
