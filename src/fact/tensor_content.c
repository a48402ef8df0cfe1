/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_content.c - each attribute of a content, from the summary and the range that a trace
 * tells
 *
 * One function an attribute, in a table: it appends the value or says nothing (false). Thresholds
 * are there so that chance alone does not make a claim, or break one; each says its odds. What a
 * model computed says less than data does.
 */
#include "fact/tensor_content.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "fact/rule.h"
#include "relation/support.h"
#include "replay/event.h"

/* Of more elements the collector does not ask whether all are the same. */
#define MAX_SUMMARIZED 65536
/* By chance a column shows one element once in two to the power of this; three occasions are needed
 * for a claim, so once in 4,096. */
#define MIN_BITS 4.0

/* ---- members -------------------------------------------------------------------------------- */

static const struct {
    struct tc_str name;
    size_t offset;
} members[] = {
#define MEMBER(name)                                               \
    {                                                              \
        TC_FACT_NAME(#name), offsetof(struct tc_fact_tensor, name) \
    }
    MEMBER(id),    MEMBER(dtype),    MEMBER(shape),  MEMBER(requires_grad), MEMBER(device),
    MEMBER(value), MEMBER(constant), MEMBER(summary)
#undef MEMBER
};

/* Where a member of that name is kept; NULL if nothing is recorded of it. */
static const struct tc_value **place_of_member(struct tc_fact_tensor *t, struct tc_str key)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        if (tc_fact_is_name(key, members[i].name))
            return (const struct tc_value **)((char *)t + members[i].offset);
    return NULL;
}

void tc_fact_tensor(struct tc_fact_tensor *t, const struct tc_value *tensor)
{
    *t = (struct tc_fact_tensor){0};
    for (uint32_t i = tensor->n; i-- > 0;) { /* of two of one name the first */
        const struct tc_value **place = place_of_member(t, tensor->members[i].key);
        if (place)
            *place = &tensor->members[i].value;
    }
    t->n_elements = tc_count_elements(t->shape);
}

/* ---- attributes ----------------------------------------------------------------------------- */

static bool add_flag(struct tc_strbuf *out, bool value)
{
    tc_strbuf_adds(out, value ? "true" : "false");
    return true;
}

/* Are there so many rows, and different elements, that a column does not show one by chance? */
static bool tells_columns(const struct tc_value *summary, int64_t n, int64_t n_columns)
{
    const double n_distinct = (double)tc_value_int(tc_value_get(summary, "distinct"), 2);

    return n_columns > 1 && n_distinct > 1 &&
           (double)(n / n_columns - 1) * log2(n_distinct) >= MIN_BITS;
}

/* Rows of which one need not be like another: those of one picture, or of one sentence, are alike.
 * Which of the dimensions holds the samples is not known; the largest is not less than it. */
static int64_t n_unlike_rows(const struct tc_value *shape)
{
    int64_t n = 1;

    for (size_t i = 0; i + 1 < shape->n; i++) {
        const int64_t size = tc_value_int(&shape->items[i], 1);

        n = size > n ? size : n;
    }
    return n;
}

/* Is the element so frequent that the rows of a column may all show it by chance? What breaks a
 * claim is to be as sure as one. */
static bool is_doubtful(const struct tc_fact_tensor *tensor, const struct tc_value *element)
{
    const struct tc_value *summary = tensor->summary;
    const bool is_bool = element->kind == TC_VALUE_BOOL;
    const char *key = is_bool                 ? (element->boolean ? "true" : "false")
                      : element->integer == 0 ? "zero"
                      : element->integer == 1 ? "one"
                      : element->integer < 0  ? "negative"
                                              : NULL;
    const double n_distinct = (double)tc_value_int(tc_value_get(summary, "distinct"), 2);
    const double n_like = key ? (double)tc_value_int(tc_value_get(summary, key), 0) : 0;

    const double n = (double)tensor->n_elements;

    return (double)n_unlike_rows(tensor->shape) * log2(n_like > 0 ? n / n_like : n_distinct) <
           TC_FACT_BITS_OF_CLAIM;
}

static bool add_column(const struct tc_fact_tensor *tensor, const char *key, struct tc_strbuf *out)
{
    const struct tc_value *summary = tensor->summary;
    const struct tc_value *shape = tensor->shape, *element;

    if (!summary || !shape || shape->kind != TC_VALUE_ARRAY || shape->n < 2 ||
        !tells_columns(summary, tensor->n_elements, tc_value_int(&shape->items[shape->n - 1], 0)))
        return false;
    element = tc_value_get(summary, key);
    if (!element) {
        tc_strbuf_adds(out, TC_FACT_MIXED);
        return true;
    }
    if (element->kind == TC_VALUE_BOOL)
        tc_strbuf_addf(out, "\"always %s\"", element->boolean ? "true" : "false");
    else
        tc_strbuf_addf(out, "\"always %lld\"", (long long)tc_value_int(element, 0));
    if (is_doubtful(tensor, element))
        tc_strbuf_addc(out, TC_FACT_DOUBT);
    return true;
}

static bool first_column(const struct tc_fact_tensor *tensor, bool is_computed,
                         struct tc_strbuf *out)
{
    return !is_computed && add_column(tensor, "first", out);
}

static bool last_column(const struct tc_fact_tensor *tensor, bool is_computed,
                        struct tc_strbuf *out)
{
    return !is_computed && add_column(tensor, "last", out);
}

static bool is_uniform_summary(const struct tc_value *summary)
{
    const struct tc_value *min = tc_value_get(summary, "min"), *max = tc_value_get(summary, "max");

    if (min && max)
        return tc_value_int(min, 0) == tc_value_int(max, 0);
    return tc_value_int(tc_value_get(summary, "true"), 0) == 0 ||
           tc_value_int(tc_value_get(summary, "false"), 0) == 0;
}

static bool uniform(const struct tc_fact_tensor *tensor, bool is_computed, struct tc_strbuf *out)
{
    const struct tc_value *summary = tensor->summary;
    struct tc_str dtype = tc_value_str(tensor->dtype);
    int64_t n = tensor->n_elements;

    if (n < 2 || n > MAX_SUMMARIZED)
        return false;
    if (summary) /* what a model chooses may become one thing; its ratio that is always one is none
                  */
        return n >= TC_MIN_ELEMENTS && !is_computed && add_flag(out, is_uniform_summary(summary));
    if (!tc_value_is(tensor->device, "cpu") || dtype.size < 5 ||
        (memcmp(dtype.text, "float", 5) != 0 && memcmp(dtype.text, "bfloa", 5) != 0))
        return false;
    return add_flag(out, tensor->constant != NULL);
}

static bool zero(const struct tc_fact_tensor *tensor, bool is_computed, struct tc_strbuf *out)
{
    const struct tc_value *value = tensor->value;

    (void)is_computed;
    if (!value || value->kind != TC_VALUE_FLOAT)
        return false;
    return add_flag(out, value->number == 0);
}

static const struct {
    enum tc_attribute attribute;
    bool (*tell)(const struct tc_fact_tensor *tensor, bool is_computed, struct tc_strbuf *out);
} rows[TC_N_CONTENT] = {
    {TC_ATTRIBUTE_FIRST,   first_column},
    {TC_ATTRIBUTE_LAST,    last_column },
    {TC_ATTRIBUTE_UNIFORM, uniform     },
    {TC_ATTRIBUTE_ZERO,    zero        },
};

enum tc_attribute tc_fact_content_attribute(size_t i)
{
    return rows[i].attribute;
}

bool tc_fact_content(size_t i, const struct tc_fact_tensor *tensor, bool is_computed,
                     struct tc_strbuf *out)
{
    return rows[i].tell(tensor, is_computed, out);
}
