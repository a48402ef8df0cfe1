/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - UTF-8 by RFC 3629: no surrogates, no overlong forms, up to U+10FFFF
 */
#ifndef TC_BASE_UTF8_H
#define TC_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at p, which is before end; 0 if it is not UTF-8 or cut off by end. */
size_t tc_utf8_size(const char *p, const char *end);
/* The first byte of [p, end) that begins no character; NULL if all of it is UTF-8. */
const char *tc_utf8_find_other(const char *p, const char *end);
/* Bytes written to out, 1 to 4; code must be no surrogate and at most 0x10ffff. */
size_t tc_utf8_put(uint32_t code, char out[4]);

/* Is the character at p, of size bytes (0: not UTF-8), a control character (C0, DEL, C1) or one
 * that reorders text (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069, U+061C)? */
bool tc_utf8_is_hidden(const char *p, size_t size);
/* U+2028 or U+2029, at which a line may end? */
bool tc_utf8_is_separator(const char *p, size_t size);

#endif /* TC_BASE_UTF8_H */
