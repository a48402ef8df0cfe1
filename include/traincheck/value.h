/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h - one JSON value of a trace record
 *
 * A value is a read-only tree in an arena: strings without escapes point into
 * the text that was scanned, so a value lives no longer than that text and
 * that arena. Integers are exact in int64; NaN and the infinities are accepted
 * as JSON numbers because other tracers write them.
 */
#ifndef TRAINCHECK_VALUE_H
#define TRAINCHECK_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/export.h>

/* A borrowed piece of UTF-8 text; not terminated. text is NULL when absent. */
struct tc_str {
    const char *text;
    uint32_t size; /* bytes */
};

enum tc_value_kind {
    TC_VALUE_NULL,
    TC_VALUE_BOOL,
    TC_VALUE_INT,
    TC_VALUE_FLOAT, /* a number that is not an exact int64 */
    TC_VALUE_STR,
    TC_VALUE_ARRAY,
    TC_VALUE_OBJECT,
};

struct tc_value {
    enum tc_value_kind kind;
    uint32_t n; /* bytes of a string, elements of an array, members of an object */
    union {
        bool boolean;
        int64_t integer;
        double number;
        const char *text;                /* TC_VALUE_STR, n bytes of valid UTF-8 */
        const struct tc_value *items;    /* TC_VALUE_ARRAY */
        const struct tc_member *members; /* TC_VALUE_OBJECT, in the order written */
    };
};

struct tc_member {
    struct tc_str key;
    struct tc_value value;
};

/* The member of that name, or NULL: also when object is NULL or no object. */
TC_API const struct tc_value *tc_value_get(const struct tc_value *object, const char *key);

/* Is v a string with exactly this text? v may be NULL. */
TC_API bool tc_value_is(const struct tc_value *v, const char *text);

/* Is v the boolean true? v may be NULL. */
static inline bool tc_value_is_true(const struct tc_value *v)
{
    return v && v->kind == TC_VALUE_BOOL && v->boolean;
}

/* The text of a string value, else an absent tc_str. v may be NULL. */
TC_API struct tc_str tc_value_str(const struct tc_value *v);

/* The integer, or fallback when v is NULL or no integer. */
TC_API int64_t tc_value_int(const struct tc_value *v, int64_t fallback);

/* Is v an integer or a float? Then *number is it. v may be NULL. */
static inline bool tc_value_number(const struct tc_value *v, double *number)
{
    if (!v || (v->kind != TC_VALUE_INT && v->kind != TC_VALUE_FLOAT))
        return false;
    *number = v->kind == TC_VALUE_INT ? (double)v->integer : v->number;
    return true;
}

/* Is v the number zero? v may be NULL. */
static inline bool tc_value_is_zero(const struct tc_value *v)
{
    double number;

    return tc_value_number(v, &number) && number == 0;
}

/*
 * Print as JSON, of NaN and the infinities as Python's json does: at most size bytes into text, the
 * last of them zero. Returns the bytes that the whole takes without that zero; what is not below
 * size was cut off.
 */
TC_API size_t tc_value_json(const struct tc_value *v, char *text, size_t size);

TC_API bool tc_str_is(struct tc_str s, const char *text);
TC_API bool tc_str_same(struct tc_str a, struct tc_str b);

#endif /* TRAINCHECK_VALUE_H */
