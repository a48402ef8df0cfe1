/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.h - doubles as text, whatever the locale of the process
 */
#ifndef TC_BASE_NUMBER_H
#define TC_BASE_NUMBER_H

#include <stddef.h>

#include "base/strbuf.h"

/* The double nearest to text, which must be a number by the grammar of RFC 8259. */
double tc_number_parse(const char *text, size_t size);

/* The shortest of 15 to 17 digits that reads back as the same finite number;
 * integers up to 2^53 without exponent or point; NaN, Infinity, -Infinity. */
void tc_strbuf_add_number(struct tc_strbuf *buf, double number);

#endif /* TC_BASE_NUMBER_H */
