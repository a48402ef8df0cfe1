/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c - what is asked of the tensors of a look, in one launch
 *
 * One source for the device, which NVRTC compiles where the agent runs, and for the tests, which
 * compile it as C. So it is the part of C that both have, and what differs is in the macros below.
 * The state of a block is one struct. A block works off phases: EACH_THREAD(t) { ... } is a loop
 * over threads in C, and on the device the work of one thread and a barrier.
 *
 * A warp reads a chunk (lanes.h) in vectors of two words. As a stripe has four such vectors, each
 * thread has the same two lanes all the time, and its sums stay in registers.
 */
#ifdef __CUDACC_RTC__
#    define ON_DEVICE 1
#else
#    include "collect/agent/look/kernel.h"
#    ifdef __CUDACC__
#        define ON_DEVICE 1
#    else
#        include <string.h>
#        define ON_DEVICE 0
#    endif
#endif

#if ON_DEVICE
#    define DEVICE static __device__ __forceinline__
#    define SELDOM static __device__ __noinline__
#    define EACH_THREAD(t) \
        for (tc_u32 t = threadIdx.x, t##_done = 0; !t##_done; t##_done = 1, __syncthreads())
#    define UNROLL           _Pragma("unroll")
#    define ROLL             _Pragma("unroll 1")
#    define ATOMIC_ADD(p, x) atomicAdd((p), (x))
#    define ATOMIC_OR(p, x)  atomicOr((p), (x))
#    define ATOMIC_MAX(p, x) atomicMax((p), (x))
#else
#    define DEVICE         static inline
#    define SELDOM         static
#    define EACH_THREAD(t) for (tc_u32 t = 0; t < TC_KERNEL_THREADS; t++)
#    define UNROLL
#    define ROLL
#    define ATOMIC_ADD(p, x) __atomic_fetch_add((p), (x), __ATOMIC_RELAXED)
#    define ATOMIC_OR(p, x)  __atomic_fetch_or((p), (x), __ATOMIC_RELAXED)
#    define ATOMIC_MAX(p, x) atomic_max((p), (x))
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

/* What the threads of a block share. */
struct block {
    struct tc_kernel_item item;
    tc_u64 keys[CHUNK_WORDS];
    tc_u64 sums[TC_KERNEL_CHUNKS][WARP][2]; /* of a chunk: for each of two lanes */
    struct found found[TC_KERNEL_THREADS];
    tc_u64 first; /* the first element, repeated up to a word */
};

struct pair {
    tc_u64 a, b;
};

/* ---- words of memory ---- */

#if !ON_DEVICE
static void atomic_max(tc_u64 *p, tc_u64 x)
{
    tc_u64 old = __atomic_load_n(p, __ATOMIC_RELAXED);

    while (old < x &&
           !__atomic_compare_exchange_n(p, &old, x, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
#endif

/* by: the address is a multiple of it, 16 or 4. */
DEVICE struct pair load_pair(tc_u64 address, tc_u32 by)
{
    struct pair p;
#if ON_DEVICE
    if (by == 4) {
        const tc_u32 *x = (const tc_u32 *)address;

        p.a = x[0] | (tc_u64)x[1] << 32;
        p.b = x[2] | (tc_u64)x[3] << 32;
        return p;
    }
    const ulonglong2 v = *(const ulonglong2 *)address;

    p.a = v.x;
    p.b = v.y;
#else
    (void)by;
    memcpy(&p, (const void *)(size_t)address, sizeof(p));
#endif
    return p;
}

/* size is 1, 2, 4 or 8, and the address a multiple of it. */
DEVICE tc_u64 load(tc_u64 address, tc_u32 size)
{
#if ON_DEVICE
    switch (size) {
    case 8:
        return *(const tc_u64 *)address;
    case 4:
        return *(const tc_u32 *)address;
    case 2:
        return *(const unsigned short *)address;
    default:
        return *(const unsigned char *)address;
    }
#else
    tc_u64 x = 0;

    memcpy(&x, (const void *)(size_t)address, size);
    return x;
#endif
}

/* size bytes, 8 at most, at whatever address. */
SELDOM tc_u64 load_some(tc_u64 address, tc_u32 size)
{
    const tc_u32 by = address % 8 == 0 && size == 8       ? 8u
                      : address % 4 == 0 && size % 4 == 0 ? 4u
                      : address % 2 == 0 && size % 2 == 0 ? 2u
                                                          : 1u;
    tc_u64 x = 0;

    for (tc_u32 i = 0; i < size; i += by)
        x |= load(address + i, by) << 8 * i;
    return x;
}

/* Where element i lies, from the first. Divisions of 32 bits are several times as fast. */
DEVICE tc_u64 place_of(const struct tc_kernel_item *item, tc_u64 i)
{
    tc_u64 at = 0;

    if (!item->n_dims)
        return i * item->item_size;
    for (tc_u32 d = item->n_dims; d > 0; d--) {
        const tc_u64 n = item->shape[d - 1];
        const tc_u64 next = (i | n) >> 32 ? i / n : (tc_u32)i / (tc_u32)n;

        at += (i - next * n) * item->stride[d - 1];
        i = next;
    }
    return at;
}

/* The bytes of a word of which `left` are there, element by element. */
SELDOM tc_u64 gather(const struct tc_kernel_item *item, tc_u64 byte, tc_u32 left)
{
    const tc_u32 size = item->item_size < 8 ? item->item_size : 8u;
    tc_u64 x = 0;

    for (tc_u32 k = 0; k < left; k += size) {
        tc_u64 i = (byte + k) / item->item_size;

        if (item->n_from)
            i = i * item->n_from / (item->size / item->item_size);
        x |= load_some(item->data + place_of(item, i) + (byte + k) % item->item_size, size)
             << 8 * k;
    }
    return x;
}

/* How many bytes of the word at this one are there: 8 at most. */
DEVICE tc_u32 left_at(const struct tc_kernel_item *item, tc_u64 byte)
{
    return byte >= item->size ? 0u : item->size - byte < 8 ? (tc_u32)(item->size - byte) : 8u;
}

/* With zeros behind the end. */
DEVICE tc_u64 word_at(const struct tc_kernel_item *item, tc_u64 byte)
{
    const tc_u32 left = left_at(item, byte);

    if (item->n_dims || item->n_from)
        return gather(item, byte, left);
    return load_some(item->data + byte, left);
}

/* ---- digests: see lanes.h ---- */

DEVICE tc_u64 mix(tc_u64 x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

DEVICE tc_u64 product(tc_u64 word, tc_u64 key)
{
    const tc_u64 x = word ^ key;

    return (x & LOW) * (x >> 32);
}

/* ---- numbers ---- */

/* Without the bits of the signs. */
DEVICE tc_u64 without_signs(tc_u32 number, tc_u64 word)
{
    return word & (number == F64   ? 0x7fffffffffffffffull
                   : number == F32 ? 0x7fffffff7fffffffull
                                   : 0x7fff7fff7fff7fffull);
}

DEVICE tc_u64 larger(tc_u64 a, tc_u64 b)
{
    return a > b ? a : b;
}

/* Of the two halves, or four quarters, each for itself. */
DEVICE tc_u64 larger_of_each(tc_u32 number, tc_u64 a, tc_u64 b)
{
    if (number == F64)
        return larger(a, b);
    if (number == F32)
        return larger(a & LOW, b & LOW) | larger(a >> 32, b >> 32) << 32;
#if ON_DEVICE
    return (tc_u64)__vmaxu2((tc_u32)(a >> 32), (tc_u32)(b >> 32)) << 32 |
           __vmaxu2((tc_u32)a, (tc_u32)b);
#else
    return larger(a & 0xffff, b & 0xffff) | larger(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16 |
           larger(a >> 32 & 0xffff, b >> 32 & 0xffff) << 32 | larger(a >> 48, b >> 48) << 48;
#endif
}

/* A number whose bits are not below these is none, or infinite. */
DEVICE tc_u64 infinity_of(tc_u32 number)
{
    return number == F64    ? 0x7ff0000000000000ull
           : number == F32  ? 0x7f800000ull
           : number == BF16 ? 0x7f80ull
                            : 0x7c00ull;
}

DEVICE tc_u32 bits_of(tc_u32 number)
{
    return number == F64 ? 64u : number == F32 ? 32u : 16u;
}

/* The largest of the numbers of a word. */
DEVICE tc_u64 largest_in(tc_u32 number, tc_u64 word)
{
    const tc_u32 bits = bits_of(number);
    tc_u64 x = 0;

    if (bits == 64)
        return word;
    for (tc_u32 shift = 0; shift < 64; shift += bits)
        x = larger(x, word >> shift & ((1ull << bits) - 1));
    return x;
}

SELDOM tc_u32 flags_of(tc_u32 number, tc_u64 word, tc_u32 left)
{
    const tc_u32 bits = bits_of(number);
    const tc_u64 infinity = infinity_of(number), sign = 1ull << (bits - 1);
    tc_u32 flags = 0;

    for (tc_u32 shift = 0; shift < 8 * left; shift += bits) {
        const tc_u64 x = word >> shift & (sign | (sign - 1));

        flags |= (x & (sign - 1)) < infinity ? TC_KERNEL_NUMBER
                 : x == (sign | infinity)    ? TC_KERNEL_LOWEST
                                             : TC_KERNEL_INFINITE;
    }
    return flags;
}

/* IEEE 754 binary16 without its sign, as bits of a float. */
DEVICE tc_u64 float_of_half(tc_u64 bits)
{
    const tc_u64 fraction = bits & 0x3ff, exponent = bits >> 10;
    tc_u64 shifts = 0;

    if (exponent == 31)
        return 0x7f800000ull | fraction << 13;
    if (exponent)
        return (exponent + 112) << 23 | fraction << 13;
    if (!fraction)
        return 0;
    while (!(fraction << shifts & 0x400))
        shifts++;
    return (113 - shifts) << 23 | (fraction << shifts & 0x3ff) << 13;
}

DEVICE tc_u64 answer_of_largest(tc_u32 number, tc_u64 largest)
{
    const tc_u64 bits = largest_in(number, largest);

    return number == F16 ? float_of_half(bits) : number == BF16 ? bits << 16 : bits;
}

/* ---- a tile ---- */

DEVICE void begin(struct block *s, const struct tc_kernel_item *items,
                  const struct tc_kernel_tile *tile)
{
    EACH_THREAD(t)
    {
        const tc_u64 *from = (const tc_u64 *)(const void *)&items[tile->item];

        for (tc_u32 i = t; i < CHUNK_WORDS; i += TC_KERNEL_THREADS)
            s->keys[i] = mix((i + 1) * GOLDEN);
        if (t < sizeof(s->item) / 8)
            ((tc_u64 *)(void *)&s->item)[t] = from[t];
        s->found[t].digest = s->found[t].largest = 0;
        s->found[t].flags = s->found[t].differs = 0;
    }
    EACH_THREAD(t)
    {
        if (t == 0 && (s->item.what & TC_KERNEL_FIRST) && s->item.size) {
            const tc_u32 size = s->item.item_size;
            const tc_u64 element = load_some(s->item.data, size);

            s->first = element;
            for (tc_u32 k = size; k < 8; k += size)
                s->first |= element << 8 * k;
        }
    }
}

/* What else than sums and magnitudes is asked of the word at this byte. */
SELDOM void take_word(const struct block *s, struct found *found, tc_u64 byte, tc_u64 word,
                      tc_u64 *out)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u32 left = left_at(item, byte);
    const tc_u64 mask = left == 8 ? ~0ull : (1ull << 8 * left) - 1;

    if (!left)
        return;
    if (item->what & TC_KERNEL_FINITE)
        found->flags |= flags_of(item->number, word, left);
    if ((item->what & TC_KERNEL_SAME) && word != load_some(item->other + byte, left))
        found->differs |= TC_KERNEL_SAME;
    if ((item->what & TC_KERNEL_FIRST) && ((word ^ s->first) & mask))
        found->differs |= TC_KERNEL_FIRST;
    if (item->what & TC_KERNEL_BYTES)
        out[(item->at + TC_KERNEL_AT(TC_KERNEL_BYTES, item->what) + byte) / 8] = word;
}

DEVICE void take_pair(const struct block *s, struct found *found, tc_u64 *sums, tc_u32 v,
                      struct pair p)
{
    const tc_u32 number = s->item.number;

    sums[0] += product(p.a, s->keys[2 * v]) + p.b;
    sums[1] += product(p.b, s->keys[2 * v + 1]) + p.a;
    if (s->item.what & TC_KERNEL_MAGNITUDE)
        found->largest = larger_of_each(
            number, found->largest,
            larger_of_each(number, without_signs(number, p.a), without_signs(number, p.b)));
}

/* A chunk of which all is there, in one piece, on multiples of `by`. */
DEVICE void take_whole(const struct block *s, tc_u32 t, tc_u64 byte, tc_u32 by, struct found *found,
                       tc_u64 *sums)
{
    UNROLL
    for (tc_u32 k = 0; k < VECTORS; k++) {
        const tc_u32 v = t % WARP + WARP * k;

        take_pair(s, found, sums, v, load_pair(s->item.data + byte + 16 * v, by));
    }
}

/* by is 0 where the chunk is none of these. */
SELDOM void take_any(const struct block *s, tc_u32 t, tc_u64 byte, tc_u32 by, struct found *found,
                     tc_u64 *sums, tc_u64 *out)
{
    ROLL for (tc_u32 k = 0; k < VECTORS; k++)
    {
        const tc_u32 v = t % WARP + WARP * k;
        const tc_u64 at = byte + 16 * v;
        struct pair p;

        if (by) {
            p = load_pair(s->item.data + at, by);
        } else {
            p.a = word_at(&s->item, at);
            p.b = word_at(&s->item, at + 8);
        }
        take_pair(s, found, sums, v, p);
        if (s->item.what & ~(TC_KERNEL_DIGEST | TC_KERNEL_MAGNITUDE)) {
            take_word(s, found, at, p.a, out);
            take_word(s, found, at + 8, p.b, out);
        }
    }
}

/* The chunk of a warp. */
DEVICE void take_chunk(struct block *s, tc_u32 t, tc_u32 slot, tc_u64 byte, tc_u32 by, tc_u64 *out)
{
    const int is_more = (s->item.what & ~(TC_KERNEL_DIGEST | TC_KERNEL_MAGNITUDE)) != 0;
    struct found found = s->found[t];
    tc_u64 sums[2] = {0, 0};

    if (byte + CHUNK > s->item.size)
        by = 0;
    if (by == 16 && !is_more)
        take_whole(s, t, byte, 16, &found, sums);
    else if (by == 4 && !is_more)
        take_whole(s, t, byte, 4, &found, sums);
    else
        take_any(s, t, byte, by, &found, sums, out);
    s->found[t] = found;
    s->sums[slot][t % WARP][0] = sums[0];
    s->sums[slot][t % WARP][1] = sums[1];
}

/* What the addresses of the tensor are multiples of: 16 or 4, 0 where it is read word by word. */
DEVICE tc_u32 alignment_of(const struct tc_kernel_item *item)
{
    if (item->n_dims || item->n_from)
        return 0;
    return item->data % 16 == 0 ? 16 : item->data % 4 == 0 ? 4 : 0;
}

/* What the lanes of the chunks in hand add to the digest. */
DEVICE void place_lanes(struct block *s, tc_u32 t, tc_u64 first_chunk, tc_u32 n_chunks)
{
    const tc_u32 slot = t / LANES, lane = t % LANES;
    tc_u64 sum = 0;

    if (slot >= n_chunks)
        return;
    for (tc_u32 j = 0; j < LANES; j++)
        sum += s->sums[slot][lane / 2 + 4 * j][lane % 2];
    s->found[t].digest += mix(sum + ((first_chunk + slot) * LANES + lane + 1) * GOLDEN);
}

DEVICE void take_tile(struct block *s, tc_u64 from, tc_u64 *out)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u64 end = from + item->tile < item->size ? from + item->tile : item->size;
    const tc_u32 by = alignment_of(item);

    for (tc_u64 at = from; at < end; at += TC_KERNEL_GROUP) {
        const tc_u64 chunks = (end - at + CHUNK - 1) / CHUNK;
        const tc_u32 n = chunks < TC_KERNEL_CHUNKS ? (tc_u32)chunks : TC_KERNEL_CHUNKS;

        EACH_THREAD(t)
        {
            for (tc_u32 slot = t / WARP; slot < n; slot += N_WARPS)
                take_chunk(s, t, slot, at + slot * CHUNK, by, out);
        }
        EACH_THREAD(t)
        {
            if (item->what & TC_KERNEL_DIGEST)
                place_lanes(s, t, at / CHUNK, n);
        }
    }
}

/* What all threads have found, to the first. */
DEVICE void gather_found(struct block *s)
{
    for (tc_u32 half = TC_KERNEL_THREADS / 2; half; half /= 2)
        EACH_THREAD(t)
        {
            if (t < half) {
                struct found *to = &s->found[t];
                const struct found *from = &s->found[t + half];

                to->digest += from->digest;
                to->largest = larger_of_each(s->item.number, to->largest, from->largest);
                to->flags |= from->flags;
                to->differs |= from->differs;
            }
        }
}

/* Answers begin as zero; where one tile is all there is, they need not. */
DEVICE void put(tc_u64 *answers, const struct tc_kernel_item *item, tc_u32 flag, tc_u64 x)
{
    tc_u64 *at = answers + TC_KERNEL_AT(flag, item->what) / 8;

    if (!(item->what & flag))
        return;
    if (item->size <= item->tile)
        *at = x;
    else if (flag == TC_KERNEL_DIGEST)
        ATOMIC_ADD(at, x);
    else if (flag == TC_KERNEL_MAGNITUDE)
        ATOMIC_MAX(at, x);
    else
        ATOMIC_OR(at, x);
}

DEVICE void put_all(const struct block *s, tc_u32 number, tc_u64 *out)
{
    const struct tc_kernel_item *item = &s->item;
    const struct found *found = &s->found[0];
    tc_u64 *answers = out + item->at / 8;

    put(answers, item, TC_KERNEL_DIGEST, found->digest);
    put(answers, item, TC_KERNEL_MAGNITUDE, answer_of_largest(item->number, found->largest));
    put(answers, item, TC_KERNEL_FINITE, found->flags);
    put(answers, item, TC_KERNEL_SAME, found->differs & TC_KERNEL_SAME);
    put(answers, item, TC_KERNEL_FIRST, found->differs & TC_KERNEL_FIRST);
    if ((item->what & TC_KERNEL_FIRST) && number == 0)
        answers[TC_KERNEL_AT(TC_KERNEL_FIRST, item->what) / 8 + 1] = s->first;
}

DEVICE void work(struct block *s, const struct tc_kernel_item *items,
                 const struct tc_kernel_tile *tile, tc_u64 *out)
{
    begin(s, items, tile);
    take_tile(s, tile->number * s->item.tile, out);
    gather_found(s);
    EACH_THREAD(t)
    {
        if (t == 0)
            put_all(s, tile->number, out);
    }
}

#if ON_DEVICE
extern "C" __global__ void __launch_bounds__(TC_KERNEL_THREADS)
    tc_look(const struct tc_kernel_item *items, const struct tc_kernel_tile *tiles, tc_u64 *out)
{
    __shared__ struct block s;

    work(&s, items, tiles + blockIdx.x, out);
}
#else
void tc_kernel_block(const struct tc_kernel_item *items, const struct tc_kernel_tile *tiles,
                     tc_u64 *out, tc_u32 block)
{
    struct block s;

    work(&s, items, tiles + block, out);
}
#endif
