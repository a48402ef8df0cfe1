/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed.c - unpacks the kernel's words into summaries, ranges and scales
 *
 * The layout is that of kernel.h, told from this side; the static assertion ties the limits of
 * both together. A count that does not fit its 16 bits is one of "all", which minimum and maximum
 * tell. Bytes come from a device: nothing in them is used as an index.
 */
#include "collect/agent/look/packed.h"

#include <string.h>

#include "collect/agent/look/kernel.h"

_Static_assert(TC_MAX_SPAN == TC_KERNEL_MAX_SPAN && TC_N_SCALED == TC_KERNEL_N_SCALED,
               "kernel.h counts and takes as many as summary.h");

static uint64_t word_at(const unsigned char *sent, size_t i)
{
    uint64_t word;

    memcpy(&word, sent + i * sizeof(word), sizeof(word));
    return word;
}

/* Returns the words that it takes. */
static size_t read_pair(const unsigned char *sent, bool is_long, int64_t *a, int64_t *b)
{
    const uint64_t word = word_at(sent, 0);

    *a = is_long ? (int64_t)word : (int32_t)(uint32_t)word;
    *b = is_long ? (int64_t)word_at(sent, 1) : (int32_t)(uint32_t)(word >> 32);
    return is_long ? 2 : 1;
}

/* Of 16 bits, of which TC_KERNEL_MAX_COUNTED shows none. */
static size_t count_of(uint64_t bits, size_t n, bool are_all)
{
    return are_all ? n : (size_t)(bits & 0xffff);
}

/* What is sent of a column that shows different elements, where these were counted. */
static int64_t none_of(const struct tc_summary *s, bool is_long)
{
    const uint64_t below = (uint64_t)s->min - 1;

    return is_long ? (int64_t)below : (int32_t)(uint32_t)below;
}

void tc_packed_summary(const unsigned char *sent, size_t n, size_t n_columns, enum tc_integer kind,
                       struct tc_summary *out)
{
    const bool is_long = kind == TC_INTEGER_I64;
    size_t at;
    uint64_t counts, fourth;
    bool is_wide;

    memset(out, 0, sizeof(*out));
    at = read_pair(sent, is_long, &out->min, &out->max);
    if (n_columns)
        at += read_pair(sent + at * sizeof(counts), is_long, &out->first, &out->last);
    counts = word_at(sent, at);
    fourth = counts >> 48;
    is_wide = (uint64_t)out->max - (uint64_t)out->min >= TC_MAX_SPAN;
    out->n_negative = count_of(counts, n, out->max < 0);
    out->n_zero = count_of(counts >> 16, n, !out->min && !out->max);
    out->n_one = count_of(counts >> 32, n, out->min == 1 && out->max == 1);
    out->n_distinct = is_wide ? -1 : (int64_t)fourth + 1;
    if (!n_columns)
        return;
    out->has_first = is_wide ? fourth & TC_KERNEL_HAS_FIRST : out->first != none_of(out, is_long);
    out->has_last = is_wide ? fourth & TC_KERNEL_HAS_LAST : out->last != none_of(out, is_long);
}

void tc_packed_range(const unsigned char *sent, enum tc_number kind, struct tc_range *out)
{
    const uint64_t mask = (UINT64_C(1) << TC_KERNEL_COUNT_BITS) - 1;
    int64_t min, max;
    const size_t at = read_pair(sent, kind == TC_NUMBER_F64, &min, &max);
    const uint64_t counts = word_at(sent, at);

    *out = (struct tc_range){.min = tc_float_at(&min, kind),
                             .max = tc_float_at(&max, kind),
                             .n_negative = counts & mask,
                             .n_positive = counts >> TC_KERNEL_COUNT_BITS & mask,
                             .n = counts >> 2 * TC_KERNEL_COUNT_BITS};
}

/* A half is sent as a number of 32 bits. */
void tc_packed_scale(const unsigned char *sent, enum tc_number kind, struct tc_scale *out)
{
    const enum tc_number as = kind == TC_NUMBER_F64 ? TC_NUMBER_F64 : TC_NUMBER_F32;
    int64_t min, max;

    read_pair(sent + sizeof(uint64_t), kind == TC_NUMBER_F64, &min, &max);
    *out = (struct tc_scale){.rms = tc_float_at(sent, TC_NUMBER_F64),
                             .min = tc_float_at(&min, as),
                             .max = tc_float_at(&max, as)};
    out->n = out->rms >= 0;
}
