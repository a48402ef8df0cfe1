/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.c - loops over elements: minimum, maximum, counts, distinct values, ranges, scales
 *
 * Each is written once as a macro and instantiated for each type, so that the compiler makes
 * vector code of it. Distinct values of a narrow span are counted in a bit set of the thread's
 * own, 128 KiB at most. Contiguous elements only.
 */
#include "collect/agent/look/summary.h"

#include <math.h>
#include <string.h>

/* Values are told apart in a set of bits: 128 KiB of it at most. */
static __thread uint64_t bits[TC_MAX_SPAN / 64];

static size_t clear_bits(uint64_t range)
{
    size_t n_words = (size_t)(range / 64 + 1);

    memset(bits, 0, n_words * sizeof(*bits));
    return n_words;
}

static int64_t count_bits(size_t n_words)
{
    int64_t n = 0;

    for (size_t i = 0; i < n_words; i++)
        n += __builtin_popcountll(bits[i]);
    return n;
}

/*
 * The loops of one type. The first has no branch, so that it becomes vector code; counts are of the
 * type's own size, in blocks that cannot overflow it.
 */
#define TC_SUMMARIZE(name, type)                                                            \
    static void name##_block(const type *p, size_t n, struct tc_summary *s)                 \
    {                                                                                       \
        type min = p[0], max = p[0];                                                        \
        unsigned n_negative = 0, n_zero = 0, n_one = 0;                                     \
                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                    \
            min = p[i] < min ? p[i] : min;                                                  \
            max = p[i] > max ? p[i] : max;                                                  \
            n_negative += (int64_t)p[i] < 0;                                                \
            n_zero += p[i] == 0;                                                            \
            n_one += p[i] == 1;                                                             \
        }                                                                                   \
        s->min = min;                                                                       \
        s->max = max;                                                                       \
        s->n_negative = n_negative;                                                         \
        s->n_zero = n_zero;                                                                 \
        s->n_one = n_one;                                                                   \
    }                                                                                       \
    static int64_t name##_distinct(const type *p, size_t n, int64_t min, int64_t max)       \
    {                                                                                       \
        const uint64_t range = (uint64_t)max - (uint64_t)min;                               \
        size_t n_words;                                                                     \
                                                                                            \
        if (range >= TC_MAX_SPAN)                                                           \
            return -1;                                                                      \
        n_words = clear_bits(range);                                                        \
        for (size_t i = 0; i < n; i++) {                                                    \
            uint64_t at = (uint64_t)p[i] - (uint64_t)min;                                   \
            bits[at / 64] |= UINT64_C(1) << at % 64;                                        \
        }                                                                                   \
        return count_bits(n_words);                                                         \
    }                                                                                       \
    static bool name##_column(const type *p, size_t n, size_t n_columns, size_t at,         \
                              int64_t *element)                                             \
    {                                                                                       \
        for (size_t i = at; i < n; i += n_columns)                                          \
            if (p[i] != p[at])                                                              \
                return false;                                                               \
        *element = p[at];                                                                   \
        return true;                                                                        \
    }                                                                                       \
    static void name(const type *p, size_t n, size_t n_columns, struct tc_summary *s)       \
    {                                                                                       \
        name##_block(p, n, s);                                                              \
        s->n_distinct = name##_distinct(p, n, s->min, s->max);                              \
        s->has_first = n_columns && name##_column(p, n, n_columns, 0, &s->first);           \
        s->has_last = n_columns && name##_column(p, n, n_columns, n_columns - 1, &s->last); \
    }

TC_SUMMARIZE(summarize_u8, uint8_t)
TC_SUMMARIZE(summarize_i8, int8_t)
TC_SUMMARIZE(summarize_i16, int16_t)
TC_SUMMARIZE(summarize_i32, int32_t)
TC_SUMMARIZE(summarize_i64, int64_t)

void tc_summarize(const void *data, size_t n, size_t n_columns, enum tc_integer kind,
                  struct tc_summary *out)
{
    memset(out, 0, sizeof(*out));
    switch (kind) {
    case TC_INTEGER_BOOL: /* torch keeps 0 and 1 in a byte each */
    case TC_INTEGER_U8:
        summarize_u8(data, n, n_columns, out);
        break;
    case TC_INTEGER_I8:
        summarize_i8(data, n, n_columns, out);
        break;
    case TC_INTEGER_I16:
        summarize_i16(data, n, n_columns, out);
        break;
    case TC_INTEGER_I32:
        summarize_i32(data, n, n_columns, out);
        break;
    case TC_INTEGER_I64:
        summarize_i64(data, n, n_columns, out);
        break;
    case TC_INTEGER_NONE:
        break;
    }
}

static void add_member(struct tc_strbuf *out, const char *key, int64_t number)
{
    tc_strbuf_adds(out, key);
    tc_strbuf_add_int(out, number);
}

static void add_bool(struct tc_strbuf *out, const char *key, int64_t number)
{
    tc_strbuf_adds(out, key);
    tc_strbuf_adds(out, number ? "true" : "false");
}

void tc_summary_add(struct tc_strbuf *out, const struct tc_summary *s, enum tc_integer kind)
{
    void (*add)(struct tc_strbuf *, const char *, int64_t) = add_member;

    if (kind == TC_INTEGER_BOOL) {
        add = add_bool;
        add_member(out, "{\"true\":", (int64_t)s->n_one);
        add_member(out, ",\"false\":", (int64_t)s->n_zero);
    } else {
        add_member(out, "{\"min\":", s->min);
        add_member(out, ",\"max\":", s->max);
        if (s->n_distinct >= 0)
            add_member(out, ",\"distinct\":", s->n_distinct);
        add_member(out, ",\"negative\":", (int64_t)s->n_negative);
        add_member(out, ",\"zero\":", (int64_t)s->n_zero);
        add_member(out, ",\"one\":", (int64_t)s->n_one);
    }
    if (s->has_first)
        add(out, ",\"first\":", s->first);
    if (s->has_last)
        add(out, ",\"last\":", s->last);
    tc_strbuf_addc(out, '}');
}

/* IEEE 754 binary16: 5 bits of exponent with bias 15, 10 bits of fraction. */
static double half_at(const void *data)
{
    uint16_t half;
    int exponent, fraction;
    double magnitude;

    memcpy(&half, data, sizeof(half));
    exponent = half >> 10 & 31;
    fraction = half & 0x3ff;
    if (exponent == 31)
        magnitude = fraction ? (double)NAN : (double)INFINITY;
    else
        magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

double tc_float_at(const void *data, enum tc_number kind)
{
    uint16_t upper;
    uint32_t whole;
    float single;
    double number = 0;

    switch (kind) {
    case TC_NUMBER_F16:
        return half_at(data);
    case TC_NUMBER_BF16: /* the upper half of a float */
        memcpy(&upper, data, sizeof(upper));
        whole = (uint32_t)upper << 16;
        memcpy(&single, &whole, sizeof(single));
        return (double)single;
    case TC_NUMBER_F32:
        memcpy(&single, data, sizeof(single));
        return (double)single;
    case TC_NUMBER_F64:
        memcpy(&number, data, sizeof(number));
        break;
    case TC_NUMBER_OTHER:
        break;
    }
    return number;
}

bool tc_is_constant(const void *data, size_t n, size_t item_size)
{
    return memcmp(data, (const char *)data + item_size, (n - 1) * item_size) == 0;
}

/*
 * Bits of IEEE numbers, but for the sign, are in the order of the numbers: with those of negative
 * ones turned round they compare as signed integers, a negative zero as -1. So one loop does for
 * all widths, without a branch where all are finite; `infinite` is the exponent of those that are
 * not.
 */
#define TC_RANGE(name, type, unsigned_type, infinite)                                          \
    static type name##_key(type b)                                                             \
    {                                                                                          \
        return b < 0 ? (type)(b ^ (type)((unsigned_type)-1 >> 1)) : b;                         \
    }                                                                                          \
    static bool name##_is_finite(type b)                                                       \
    {                                                                                          \
        return (b & (type)((unsigned_type)-1 >> 1)) < (type)(infinite);                        \
    }                                                                                          \
    static void name(const void *data, size_t n, enum tc_number kind, struct tc_range *out)    \
    {                                                                                          \
        const type *p = data;                                                                  \
        type min = (type)((unsigned_type)-1 >> 1), max = (type)(~min);                         \
        unsigned n_negative = 0, n_positive = 0, n_finite = 0;                                 \
                                                                                               \
        for (size_t i = 0; i < n; i++) {                                                       \
            const type key = name##_key(p[i]);                                                 \
            const bool is_finite = name##_is_finite(p[i]);                                     \
            min = is_finite && key < min ? key : min;                                          \
            max = is_finite && key > max ? key : max;                                          \
            n_negative += is_finite && key < -1;                                               \
            n_positive += is_finite && key > 0;                                                \
            n_finite += is_finite;                                                             \
        }                                                                                      \
        min = name##_key(min);                                                                 \
        max = name##_key(max);                                                                 \
        *out = (struct tc_range){tc_float_at(&min, kind), tc_float_at(&max, kind), n_negative, \
                                 n_positive, n_finite};                                        \
    }

TC_RANGE(range_16, int16_t, uint16_t, 0x7f80)
TC_RANGE(range_half, int16_t, uint16_t, 0x7c00)
TC_RANGE(range_32, int32_t, uint32_t, 0x7f800000)
TC_RANGE(range_64, int64_t, uint64_t, 0x7ff0000000000000)

void tc_range(const void *data, size_t n, enum tc_number kind, struct tc_range *out)
{
    switch (kind) {
    case TC_NUMBER_BF16:
        range_16(data, n, kind, out);
        break;
    case TC_NUMBER_F16:
        range_half(data, n, kind, out);
        break;
    case TC_NUMBER_F32:
        range_32(data, n, kind, out);
        break;
    case TC_NUMBER_F64:
        range_64(data, n, kind, out);
        break;
    case TC_NUMBER_OTHER:
        *out = (struct tc_range){0};
        break;
    }
}

void tc_scale(const void *data, size_t n, size_t item_size, enum tc_number kind,
              struct tc_scale *out)
{
    const size_t n_read = n < TC_N_SCALED ? n : TC_N_SCALED;
    double squares = 0;

    *out = (struct tc_scale){0};
    for (size_t i = 0; i < n_read; i++) {
        const double x = tc_float_at((const char *)data + tc_scaled_at(n, i) * item_size, kind);
        if (!isfinite(x))
            continue;
        out->min = out->n && out->min < x ? out->min : x;
        out->max = out->n && out->max > x ? out->max : x;
        out->n++;
        squares += x * x;
    }
    out->rms = out->n ? sqrt(squares / (double)out->n) : 0;
}
