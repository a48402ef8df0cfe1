/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_device.h - what differs between compilers of the kernel, and the state of a block
 *
 * NVRTC, hipRTC and the tests' C compiler read the same text. So it is the part of C that all of
 * them have, and the macros here hold what differs.
 *
 * A part of the text of kernel.c, which reads the parts before this one first.
 */
#ifndef TC_COLLECT_KERNEL_DEVICE_H
#define TC_COLLECT_KERNEL_DEVICE_H

#if !TC_KERNEL_ON_DEVICE
#    include <string.h>
#endif

#if TC_KERNEL_ON_DEVICE
#    define DEVICE static __device__ __forceinline__
#    define EACH_THREAD(t) \
        for (tc_u32 t = threadIdx.x, t##_done = 0; !t##_done; t##_done = 1, __syncthreads())
#    define UNROLL           _Pragma("unroll")
#    define ROLL             _Pragma("unroll 1")
#    define ATOMIC_ADD(p, x) atomicAdd((p), (x))
#    define ATOMIC_OR(p, x)  atomicOr((p), (x))
#    define ATOMIC_MAX(p, x) atomicMax((p), (x))
#    define N_BITS(x)        ((tc_u32)__popc(x))
#else
#    define DEVICE         static inline
#    define SELDOM         static
#    define EACH_THREAD(t) for (tc_u32 t = 0; t < TC_KERNEL_THREADS; t++)
#    define UNROLL
#    define ROLL
#    define ATOMIC_ADD(p, x) __atomic_fetch_add((p), (x), __ATOMIC_RELAXED)
#    define ATOMIC_OR(p, x)  __atomic_fetch_or((p), (x), __ATOMIC_RELAXED)
#    define ATOMIC_MAX(p, x) atomic_max((p), (x))
#    define N_BITS(x)        ((tc_u32)__builtin_popcount(x))
#endif

/*
 * GLOBAL: memory of tensors, which clang would ask about each time; NO_FUSING: no product is added
 * before it is rounded, of which CUDA has MULTIPLY.
 */
#if defined(__HIP__)
#    define SELDOM         static __device__ __noinline__
#    define GLOBAL         __attribute__((address_space(1)))
#    define NO_FUSING      _Pragma("clang fp contract(off)")
#    define MULTIPLY(x, y) ((x) * (y))
typedef tc_u64 tc_words __attribute__((vector_size(16)));
typedef unsigned short tc_quarters __attribute__((vector_size(8)));
#elif TC_KERNEL_ON_DEVICE
#    define SELDOM static __device__ __noinline__
#    define GLOBAL
#    define NO_FUSING
#    define MULTIPLY(x, y) __dmul_rn((x), (y))
#else
#    define NO_FUSING
#    define MULTIPLY(x, y) ((x) * (y))
#endif

#define LANES       8u
#define STRIPES     64u
#define CHUNK       (LANES * STRIPES * 8u) /* bytes */
#define CHUNK_WORDS (LANES * STRIPES)
#define GOLDEN      0x9e3779b97f4a7c15ull
#define LOW         0xffffffffull

#define WARP    32u
#define N_WARPS (TC_KERNEL_THREADS / WARP)
#define VECTORS (CHUNK_WORDS / 2u / WARP) /* of a chunk, for each thread */

/* enum tc_number */
#define F16  1u
#define BF16 2u
#define F32  3u
#define F64  4u

/* What the threads of a block have found of a tile. */
struct found {
    tc_u64 digest;  /* sum */
    tc_u64 largest; /* bits without their sign, as many numbers as a word has; each for itself */
    tc_u32 flags;   /* of FINITE */
    tc_u32 differs; /* TC_KERNEL_SAME | TC_KERNEL_FIRST */
};

/* And of the elements of a tensor: of SUMMARY, or of RANGE. */
struct counted {
    tc_i64 min, max;            /* of RANGE keys that are in the order of the numbers */
    tc_u32 negative, zero, one; /* of RANGE: below zero, above, finite */
    tc_u32 differs; /* TC_KERNEL_HAS_FIRST | TC_KERNEL_HAS_LAST: a column shows more than one */
};

#define N_MARKS 65536u /* numbers that are told apart at once */

/* What the threads of a block share. */
struct block {
    struct tc_kernel_item item;
    tc_u64 keys[CHUNK_WORDS];
    union {
        tc_u64 sums[TC_KERNEL_CHUNKS][WARP][2]; /* of a chunk: for each of two lanes */
        struct counted counted[TC_KERNEL_THREADS];
        tc_u32 marks[N_MARKS / 32]; /* a bit for each number that is there */
        double scaled[TC_KERNEL_N_SCALED];
    } room;
    struct found found[TC_KERNEL_THREADS];
    struct counted counted;
    tc_u64 first; /* the first element, repeated up to a word */
    tc_u64 bytes_at;
    tc_u64 digest;                   /* of the pieces so far */
    tc_u64 pieces[TC_KERNEL_CHUNKS]; /* sums of those in hand */
    tc_u32 n_marks;
};

struct pair {
    tc_u64 a, b;
};

#endif /* TC_COLLECT_KERNEL_DEVICE_H */
