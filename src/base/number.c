/*
 * number.c - doubles as text, whatever the locale of the process
 *
 * A library must not call setlocale and the host may have done so: the decimal
 * point of the locale is put in before strtod and taken out after printf.
 */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"

#include "base/banned.h"

#define MAX_EXACT 9007199254740992.0 /* 2^53 */

double tc_number_parse(const char *text, size_t size)
{
    const char *point = localeconv()->decimal_point;
    size_t point_size = strlen(point), n = 0;
    char small[64], *copy = small;
    double number;

    if (size + point_size >= sizeof(small))
        copy = tc_malloc(size + point_size + 1);
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '.') {
            copy[n++] = text[i];
            continue;
        }
        memcpy(copy + n, point, point_size);
        n += point_size;
    }
    copy[n] = '\0';
    number = strtod(copy, NULL);
    if (copy != small)
        tc_free(copy);
    return number;
}

static void add_point(struct tc_strbuf *buf, const char *text)
{
    const char *point = localeconv()->decimal_point, *at = strstr(text, point);

    if (!at) {
        tc_strbuf_adds(buf, text);
        return;
    }
    tc_strbuf_add(buf, text, (size_t)(at - text));
    tc_strbuf_addc(buf, '.');
    tc_strbuf_adds(buf, at + strlen(point));
}

void tc_strbuf_add_number(struct tc_strbuf *buf, double number)
{
    char text[64];

    if (isnan(number)) {
        tc_strbuf_adds(buf, "NaN");
    } else if (isinf(number)) {
        tc_strbuf_adds(buf, number < 0 ? "-Infinity" : "Infinity");
    } else if (number == floor(number) && fabs(number) <= MAX_EXACT &&
               !(number == 0 && signbit(number))) {
        tc_strbuf_add_int(buf, (int64_t)number);
    } else {
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof(text), "%.*g", digits, number);
            if (strtod(text, NULL) == number)
                break;
        }
        add_point(buf, text);
    }
}
