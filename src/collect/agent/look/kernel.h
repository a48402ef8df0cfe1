/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - the table of a look, which the kernel works off in one launch
 *
 * Read by the agent's compiler, by that of the device (NVRTC, which has no header of the system)
 * and by the tests' compiler: types of plain C alone.
 */
#ifndef TC_COLLECT_KERNEL_H
#define TC_COLLECT_KERNEL_H

typedef unsigned long long tc_u64; /* 64 bits on all of them */
typedef unsigned int tc_u32;

/* What is asked of one tensor. The answers lie one after the other, in this order; all begin as
 * zero, and the work on one tensor may be divided among blocks. */
#define TC_KERNEL_DIGEST    0x01u /* 8 bytes: the sum of all bytes (lanes.h) */
#define TC_KERNEL_MAGNITUDE 0x02u /* 8: the largest, as f32 in the first half, f64 of an f64 */
#define TC_KERNEL_FINITE    0x04u /* 8: flags of its elements, see below */
#define TC_KERNEL_SAME      0x08u /* 8: not zero where a byte differs from the other tensor's */
#define TC_KERNEL_FIRST     0x10u /* 8: not zero where an element differs from the first; 8: that */
#define TC_KERNEL_BYTES     0x20u /* all bytes in logical order, and zeros up to a whole word */

/* Of FINITE: there is a NaN or an infinity, a negative infinity, a finite number. */
#define TC_KERNEL_INFINITE 0x1u
#define TC_KERNEL_LOWEST   0x2u
#define TC_KERNEL_NUMBER   0x4u

#define TC_KERNEL_MAX_DIMS 6

struct tc_kernel_item {
    tc_u64 data, other; /* addresses; other: of SAME, in one piece */
    tc_u64 size;        /* bytes that are read */
    tc_u64 at;          /* of the answers, from the first byte of all; a multiple of 8 */
    tc_u64 tile;        /* bytes that one block works off: a multiple of TC_KERNEL_GROUP */
    tc_u64 n_from;      /* not 0: `size` is that of elements spread evenly over so many */
    tc_u32 what;
    tc_u32 number;    /* enum tc_number */
    tc_u32 item_size; /* bytes of an element: a power of 2, 8 at most but for DIGEST and BYTES */
    tc_u32 n_dims;    /* 0: the tensor is in one piece */
    tc_u64 shape[TC_KERNEL_MAX_DIMS], stride[TC_KERNEL_MAX_DIMS]; /* strides in bytes */
};

/* One for each block. */
struct tc_kernel_tile {
    tc_u32 item, number; /* of the item, and of the tile in it */
};

#define TC_KERNEL_NAME    "tc_look"
#define TC_KERNEL_THREADS 256
#define TC_KERNEL_CHUNKS  16                         /* that a block has in hand at once */
#define TC_KERNEL_GROUP   (TC_KERNEL_CHUNKS * 4096u) /* the same in bytes */

/* Of one of the questions, from `at` on. */
#define TC_KERNEL_COUNT(flag, what) (((what) & (flag)) ? 1u : 0u)
#define TC_KERNEL_WORDS(what)                                                               \
    (TC_KERNEL_COUNT(TC_KERNEL_DIGEST, what) + TC_KERNEL_COUNT(TC_KERNEL_MAGNITUDE, what) + \
     TC_KERNEL_COUNT(TC_KERNEL_FINITE, what) + TC_KERNEL_COUNT(TC_KERNEL_SAME, what) +      \
     2u * TC_KERNEL_COUNT(TC_KERNEL_FIRST, what))
#define TC_KERNEL_AT(flag, what) (8u * TC_KERNEL_WORDS((what) & ((flag)-1u)))

#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
/* The kernel compiled as C: blocks and threads are loops. What differs between blocks that run at
 * the same time is atomic. */
void tc_kernel_block(const struct tc_kernel_item *items, const struct tc_kernel_tile *tiles,
                     tc_u64 *out, tc_u32 block);
#endif

#endif /* TC_COLLECT_KERNEL_H */
