/* SPDX-License-Identifier: Apache-2.0 */
#include "fact/content.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

/* Of more elements the collector does not ask whether all are the same. */
#define MAX_SUMMARIZED 65536
/* The largest number of parts that a loss is divided by, or times that it is counted. */
#define MAX_FACTOR 1024.0
/* Of single precision. */
#define TOLERANCE 1e-4

static int64_t count_of(const struct tc_value *tensor)
{
    const struct tc_value *shape = tc_value_get(tensor, "shape");
    int64_t n = 1;

    if (!shape || shape->kind != TC_VALUE_ARRAY)
        return 0;
    for (uint32_t i = 0; i < shape->n; i++)
        n *= tc_value_int(&shape->items[i], 0);
    return n;
}

static bool add_flag(struct tc_strbuf *out, bool value)
{
    tc_strbuf_adds(out, value ? "true" : "false");
    return true;
}

static bool add_column(const struct tc_value *tensor, const char *key, struct tc_strbuf *out)
{
    const struct tc_value *summary = tc_value_get(tensor, "summary");
    const struct tc_value *shape = tc_value_get(tensor, "shape"), *element;

    if (!summary || !shape || shape->kind != TC_VALUE_ARRAY || shape->n < 2)
        return false;
    element = tc_value_get(summary, key);
    if (!element)
        tc_strbuf_adds(out, "\"mixed\"");
    else if (element->kind == TC_VALUE_BOOL)
        tc_strbuf_addf(out, "\"always %s\"", element->boolean ? "true" : "false");
    else
        tc_strbuf_addf(out, "\"always %lld\"", (long long)tc_value_int(element, 0));
    return true;
}

static bool first_column(const struct tc_value *tensor, struct tc_strbuf *out)
{
    return add_column(tensor, "first", out);
}

static bool last_column(const struct tc_value *tensor, struct tc_strbuf *out)
{
    return add_column(tensor, "last", out);
}

static bool is_uniform_summary(const struct tc_value *summary)
{
    const struct tc_value *min = tc_value_get(summary, "min"), *max = tc_value_get(summary, "max");

    if (min && max)
        return tc_value_int(min, 0) == tc_value_int(max, 0);
    return tc_value_int(tc_value_get(summary, "true"), 0) == 0 ||
           tc_value_int(tc_value_get(summary, "false"), 0) == 0;
}

static bool uniform(const struct tc_value *tensor, struct tc_strbuf *out)
{
    const struct tc_value *summary = tc_value_get(tensor, "summary");
    struct tc_str dtype = tc_value_str(tc_value_get(tensor, "dtype"));
    int64_t n = count_of(tensor);

    if (n < 2 || n > MAX_SUMMARIZED)
        return false;
    if (summary)
        return add_flag(out, is_uniform_summary(summary));
    if (!tc_value_is(tc_value_get(tensor, "device"), "cpu") || dtype.size < 5 ||
        (memcmp(dtype.text, "float", 5) != 0 && memcmp(dtype.text, "bfloa", 5) != 0))
        return false;
    return add_flag(out, tc_value_get(tensor, "constant") != NULL);
}

static bool negative(const struct tc_value *tensor, struct tc_strbuf *out)
{
    const struct tc_value *n = tc_value_get(tc_value_get(tensor, "summary"), "negative");

    return n && add_flag(out, tc_value_int(n, 0) > 0);
}

static bool zero(const struct tc_value *tensor, struct tc_strbuf *out)
{
    const struct tc_value *value = tc_value_get(tensor, "value");

    if (!value || value->kind != TC_VALUE_FLOAT)
        return false;
    return add_flag(out, value->number == 0);
}

static const struct {
    enum tc_attribute attribute;
    bool (*tell)(const struct tc_value *tensor, struct tc_strbuf *out);
} rows[TC_N_CONTENT] = {
    {TC_ATTRIBUTE_FIRST,    first_column},
    {TC_ATTRIBUTE_LAST,     last_column },
    {TC_ATTRIBUTE_UNIFORM,  uniform     },
    {TC_ATTRIBUTE_NEGATIVE, negative    },
    {TC_ATTRIBUTE_ZERO,     zero        },
};

enum tc_attribute tc_fact_content_attribute(size_t i)
{
    return rows[i].attribute;
}

bool tc_fact_content(size_t i, const struct tc_value *tensor, struct tc_strbuf *out)
{
    return rows[i].tell(tensor, out);
}

/* The whole number that x is nearly, 0 if it is none. */
static double whole(double x)
{
    double n = round(x);

    return n >= 1 && n <= MAX_FACTOR && fabs(x - n) <= TOLERANCE * n ? n : 0;
}

#define NO_FACTOR "no simple multiple of "

bool tc_fact_is_no_factor(const char *json)
{
    return !strncmp(json, "\"" NO_FACTOR, sizeof(NO_FACTOR));
}

void tc_fact_factor(double number, double result, const char *api, struct tc_strbuf *out)
{
    double times = result != 0 ? whole(number / result) : 0;
    double parts = number != 0 ? whole(result / number) : 0;

    if (times == 1)
        tc_strbuf_addf(out, "what %s returned", api);
    else if (times)
        tc_strbuf_addf(out, "%.0f times what %s returned", times, api);
    else if (parts)
        tc_strbuf_addf(out, "1/%.0f of what %s returned", parts, api);
    else
        tc_strbuf_addf(out, NO_FACTOR "what %s returned", api);
}
