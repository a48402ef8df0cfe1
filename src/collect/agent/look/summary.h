/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - what a few thousand integers or booleans are like, and the number that a float is
 *
 * Knows nothing of Python, as digest.h.
 */
#ifndef TC_COLLECT_SUMMARY_H
#define TC_COLLECT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "collect/agent/torch/kinds.h"

struct tc_summary {
    int64_t min, max;
    size_t n_negative, n_zero, n_one;
    int64_t n_distinct;       /* -1: not counted, the range is too wide */
    bool has_first, has_last; /* the first, or last, column shows one element throughout */
    int64_t first, last;
};

/* Values are told apart where smallest and largest are less than that apart. */
#define TC_MAX_SPAN (UINT64_C(1) << 20)

/*
 * Of n > 0 elements that lie in rows of n_columns; 0 columns: not in rows. Not for
 * TC_INTEGER_NONE. Needs no lock.
 */
void tc_summarize(const void *data, size_t n, size_t n_columns, enum tc_integer kind,
                  struct tc_summary *out);
/* Append {"min":...}, or {"true":...} of booleans. */
void tc_summary_add(struct tc_strbuf *out, const struct tc_summary *summary, enum tc_integer kind);

/* Enough for the order of magnitude, few enough to cost nothing beside the batch's digest. */
#define TC_N_SCALED ((size_t)256)

/* Of n elements the place of the i-th that is read: one of each of 256 parts that are as large.
 * Which one is scattered, or rows of 64 would have nothing read but every eighth column. */
static inline size_t tc_scaled_at(size_t n, size_t i)
{
    const uint64_t scattered = (uint64_t)i * 0x9E3779B1u >> 16 & 0xFFFF;

    return n < TC_N_SCALED ? i
                           : i * n / TC_N_SCALED + (size_t)(scattered * (n / TC_N_SCALED) >> 16);
}

/* How large some of n > 0 floating point numbers are; those that are not finite are left out. */
struct tc_scale {
    double rms, min, max;
    size_t n; /* finite ones; 0: the others mean nothing */
};

void tc_scale(const void *data, size_t n, size_t item_size, enum tc_number kind,
              struct tc_scale *out);

/* What n > 0 floating point numbers lie between; those that are not finite are left out. */
struct tc_range {
    double min, max;
    size_t n_negative, n_positive, n; /* n: finite ones; 0: the others mean nothing */
};

/* Reads all of them; n up to 2^32 - 1. */
void tc_range(const void *data, size_t n, enum tc_number kind, struct tc_range *out);

/* The first element. Not for TC_NUMBER_OTHER. */
double tc_float_at(const void *data, enum tc_number kind);
/* Are all n > 0 elements of that size the same? Reads no further than the first that differs. */
bool tc_is_constant(const void *data, size_t n, size_t item_size);

#endif /* TC_COLLECT_SUMMARY_H */
