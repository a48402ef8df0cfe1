/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.h - what is asked of a tensor's memory
 *
 * Knows nothing of Python: contiguous bytes in, numbers out. All functions may
 * run without the interpreter's lock.
 */
#ifndef TC_COLLECT_DIGEST_H
#define TC_COLLECT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/agent/torch/kinds.h"

/* What the record of the process calls the digests below. */
#define TC_DIGEST_NAME "nh64"

enum tc_grad_class {
    TC_GRAD_NULL,
    TC_GRAD_ZERO,
    TC_GRAD_TINY,
    TC_GRAD_NON_ZERO,
    TC_GRAD_NAN_OR_INF,
};

/* The seed of a digest: equal bytes of another type or shape are another content. */
uint64_t tc_digest_seed(const char *dtype, const int64_t *shape, size_t n_dims);
uint64_t tc_digest(const void *data, size_t size, uint64_t seed);
/* The same of a sum that was made elsewhere, as tc_lanes_sum makes it of size bytes. */
uint64_t tc_digest_of_sum(uint64_t sum, size_t size, uint64_t seed);

/* The pieces of large data that stand for the whole: this many and the last one, evenly spaced. */
#define TC_N_STRIPES   ((size_t)16)
#define TC_STRIPE_SIZE ((size_t)4096)
/* Of these alone: what writes to all of the data is seen, for 64 KiB of reading. */
uint64_t tc_digest_stripes(const void *data, size_t size, uint64_t seed);
/* Is so much data read in pieces? Then each one's digest is the seed of the next one's. */
bool tc_digest_has_stripes(size_t size);
/* Where piece i begins, in bytes: i is at most TC_N_STRIPES. */
size_t tc_digest_stripe_at(size_t size, size_t i);

/* Rows that have more bytes together are digested in pieces, evenly spaced from the first byte of a
 * row to its last: so many, and the bytes of each. */
#define TC_MAX_ROWS_WHOLE ((size_t)256 << 10)
#define TC_N_PIECES       4
#define TC_PIECE_SIZE     ((size_t)256)

/* Is a row of so many bytes read in pieces, of a tensor of so many? */
static inline bool tc_rows_have_pieces(size_t row, size_t size)
{
    return size > TC_MAX_ROWS_WHOLE && row > TC_N_PIECES * TC_PIECE_SIZE;
}

/* Where piece i of a row of so many bytes begins. */
static inline size_t tc_piece_at(size_t size, size_t i)
{
    return (size - TC_PIECE_SIZE) * i / (TC_N_PIECES - 1);
}

/* The largest magnitude of n numbers, INFINITY if one of them is NaN or infinite; 0 for
 * TC_NUMBER_OTHER. */
double tc_max_abs(const void *data, size_t n, enum tc_number kind);

/* Some of the n numbers are finite, and all others are -inf. Not for TC_NUMBER_OTHER. */
bool tc_is_masked(const void *data, size_t n, enum tc_number kind);

/* The class of a gradient by the largest magnitudes of it and of its parameter. */
enum tc_grad_class tc_grad_classify(double grad, double parameter);
const char *tc_grad_class_name(enum tc_grad_class class);

#endif /* TC_COLLECT_DIGEST_H */
