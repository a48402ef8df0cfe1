/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - the table of a look, which the kernel works off in one launch
 *
 * Read by the agent's compiler, by that of the device (NVRTC or hipRTC, which have no header of the
 * system) and by the tests' compiler: types of plain C alone.
 */
#ifndef TC_COLLECT_KERNEL_H
#define TC_COLLECT_KERNEL_H

typedef unsigned long long tc_u64; /* 64 bits on all of them */
typedef long long tc_i64;
typedef unsigned int tc_u32;

/*
 * What is asked of one tensor. The answers lie one after the other, in this order; all begin as
 * zero, and the work on one tensor may be divided among blocks. A pair is of two elements: a word
 * whose halves they are, with their sign, or two words where an element has 8 bytes.
 *
 * DIGEST     a word: the sum of all bytes (lanes.h)
 * MAGNITUDE  a word: the largest, as f32 in the first half, f64 of an f64
 * FINITE     a word: flags of its elements, see below
 * SAME       a word: not zero where a byte differs from the other tensor's
 * FIRST      a pair: not zero where an element differs from the first; and that
 * SUMMARY    of integers, see below
 * RANGE      of floating point numbers, see below
 * SCALE      a word: f64, the root of the mean square of some elements, less than 0 where none is
 *            finite; a pair: the smallest, the largest
 * STRIPES    a word: the digest of pieces (digest.h). Alone
 * ROWS       half a word for each: the lower half of its digest. Alone
 * BYTES      all bytes in logical order, and zeros up to a whole word
 */
#define TC_KERNEL_DIGEST    0x001u
#define TC_KERNEL_MAGNITUDE 0x002u
#define TC_KERNEL_FINITE    0x004u
#define TC_KERNEL_SAME      0x008u
#define TC_KERNEL_FIRST     0x010u
#define TC_KERNEL_SUMMARY   0x020u
#define TC_KERNEL_RANGE     0x040u
#define TC_KERNEL_SCALE     0x080u
#define TC_KERNEL_STRIPES   0x100u
#define TC_KERNEL_ROWS      0x200u
#define TC_KERNEL_BYTES     0x400u

/* Of FINITE: there is a NaN or an infinity, a negative infinity, a finite number. */
#define TC_KERNEL_INFINITE 0x1u
#define TC_KERNEL_LOWEST   0x2u
#define TC_KERNEL_NUMBER   0x4u

/*
 * SUMMARY, of TC_KERNEL_MAX_COUNTED elements at most: the pair of the smallest and the largest;
 * where there are columns that of the elements that the first and the last one always show; and a
 * word of four numbers, each without what is above its 16 bits: how many are negative, zero, one,
 * and how many there are of different ones, less 1. A column that shows different elements has the
 * number below the smallest. Where smallest and largest are TC_KERNEL_MAX_SPAN apart different ones
 * are not counted: the flags say which columns show one element.
 *
 * RANGE, of as many: the pair of the smallest and the largest, as bits; a word of three numbers of
 * 21 bits: how many are below zero, above zero, finite. The pair is of finite ones, if there are
 * any.
 */
#define TC_KERNEL_MAX_COUNTED 65536u
#define TC_KERNEL_MAX_SPAN    (1ull << 20)
#define TC_KERNEL_HAS_FIRST   0x1u
#define TC_KERNEL_HAS_LAST    0x2u
#define TC_KERNEL_COUNT_BITS  21

#define TC_KERNEL_MAX_DIMS 6
#define TC_KERNEL_N_SCALED 256u /* elements of a scale (summary.h) */

struct tc_kernel_item {
    tc_u64 data, other; /* addresses; other: of SAME, in one piece */
    tc_u64 size;        /* bytes that are read */
    tc_u64 at;          /* of the answers, from the first byte of all; a multiple of 8 */
    tc_u64 tile;        /* bytes that one block works off: a multiple of TC_KERNEL_GROUP */
    tc_u64 seed;        /* of STRIPES */
    tc_u64 begins;      /* the kernel's own: the element with which a row begins */
    tc_u32 what;
    tc_u32 number;     /* enum tc_number */
    tc_u32 item_size;  /* bytes of an element: a power of 2, 8 at most but for DIGEST and BYTES */
    tc_u32 is_signed;  /* of SUMMARY: an element may be negative */
    tc_u32 n_columns;  /* of SUMMARY: 0, or elements of the last dimension */
    tc_u32 n_rows;     /* of ROWS: each is a tile */
    tc_u32 n_pieces;   /* of STRIPES, and of ROWS that are not read whole */
    tc_u32 piece_size; /* a chunk at most */
    tc_u32 n_dims;     /* 0: the tensor is in one piece */
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

/* CUDA has both of the first two, HIP the third. */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIP__)
#    define TC_KERNEL_ON_DEVICE 1
#    define TC_KERNEL_BOTH      static __device__ __forceinline__
#else
#    define TC_KERNEL_ON_DEVICE 0
#    define TC_KERNEL_BOTH      static inline
#endif

/* What blocks may divide among them, each with a tile; all else is one block's, the first's. */
#define TC_KERNEL_DIVIDED                                                         \
    (TC_KERNEL_DIGEST | TC_KERNEL_MAGNITUDE | TC_KERNEL_FINITE | TC_KERNEL_SAME | \
     TC_KERNEL_FIRST | TC_KERNEL_SCALE | TC_KERNEL_BYTES)

/* The words of the answer to one of the questions. */
TC_KERNEL_BOTH tc_u64 tc_kernel_words(const struct tc_kernel_item *item, tc_u32 flag)
{
    const tc_u64 pair = item->item_size == 8 ? 2 : 1;

    switch (flag) {
    case TC_KERNEL_FIRST:
        return pair;
    case TC_KERNEL_SUMMARY:
        return (item->n_columns ? 2 * pair : pair) + 1;
    case TC_KERNEL_RANGE:
    case TC_KERNEL_SCALE:
        return pair + 1;
    case TC_KERNEL_ROWS:
        return ((tc_u64)item->n_rows + 1) / 2;
    case TC_KERNEL_BYTES:
        return (item->size + 7) / 8;
    default:
        return 1;
    }
}

/* Where it begins, in words from the first answer to this tensor. */
TC_KERNEL_BOTH tc_u64 tc_kernel_at(const struct tc_kernel_item *item, tc_u32 flag)
{
    tc_u64 at = 0;

    for (tc_u32 before = 1; before < flag; before *= 2)
        if (item->what & before)
            at += tc_kernel_words(item, before);
    return at;
}

#if !TC_KERNEL_ON_DEVICE
/* The kernel compiled as C: blocks and threads are loops. What differs between blocks that run at
 * the same time is atomic. */
void tc_kernel_block(const struct tc_kernel_item *items, const struct tc_kernel_tile *tiles,
                     tc_u64 *out, tc_u32 block);
#endif

#endif /* TC_COLLECT_KERNEL_H */
