/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.c - doubles as text, whatever the locale of the process
 *
 * A library must not call setlocale and the host may have done so: the decimal
 * point of the locale is put in before strtod and taken out after printf.
 */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"

#define MAX_EXACT    9007199254740992.0 /* 2^53 */
#define MAX_DECIMALS 6

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

static void add_digits(struct tc_strbuf *buf, uint64_t n, int n_digits)
{
    char digits[MAX_DECIMALS];

    for (int i = n_digits; i > 0; i--, n /= 10)
        digits[i - 1] = (char)('0' + n % 10);
    tc_strbuf_add(buf, digits, (size_t)n_digits);
}

/*
 * Most numbers that people write have few decimals. As m and 10^k are exact, their quotient is the
 * double nearest to the decimal m / 10^k: where it is the number, that decimal is its text.
 */
static bool add_short(struct tc_strbuf *buf, double number)
{
    double size = fabs(number), scale = 10;

    if (size < 1e-4 || size >= 1e9)
        return false;
    for (int k = 1; k <= MAX_DECIMALS; k++, scale *= 10) {
        double m = nearbyint(size * scale);

        if (m / scale != size)
            continue;
        if (number < 0)
            tc_strbuf_addc(buf, '-');
        tc_strbuf_add_int(buf, (int64_t)size);
        tc_strbuf_addc(buf, '.');
        add_digits(buf, (uint64_t)m % (uint64_t)scale, k);
        return true;
    }
    return false;
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
    } else if (!add_short(buf, number)) {
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof(text), "%.*g", digits, number);
            if (strtod(text, NULL) == number)
                break;
        }
        add_point(buf, text);
    }
}
