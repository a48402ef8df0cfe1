/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c - what is asked of the tensors of a look, in one launch
 *
 * One source for the devices of two vendors, which NVRTC or hipRTC compiles where the agent runs,
 * and for the tests, which compile it as C. So it is the part of C that all have, and what differs
 * is in the macros below. The state of a block is one struct. A block works off phases:
 * EACH_THREAD(t) { ... } is a loop over threads in C, and on the device the work of one thread and
 * a barrier.
 *
 * 32 threads, a warp, read a chunk (lanes.h) in vectors of two words. As a stripe has four such
 * vectors, each thread has the same two lanes all the time, and its sums stay in registers. Threads
 * hear of each other behind barriers alone: that AMD's run in groups of 64, or of 32, matters not.
 */
#if !defined(__CUDACC_RTC__) && !defined(__HIP__) /* there kernel.h stands before this text */
#    include "collect/agent/look/kernel.h"
#endif
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

/* ---- words of memory ---- */

#if !TC_KERNEL_ON_DEVICE
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
#if TC_KERNEL_ON_DEVICE
    if (by == 4) {
        const GLOBAL tc_u32 *x = (const GLOBAL tc_u32 *)address;

        p.a = x[0] | (tc_u64)x[1] << 32;
        p.b = x[2] | (tc_u64)x[3] << 32;
        return p;
    }
#    ifdef __HIP__
    const tc_words v = *(const GLOBAL tc_words *)address;

    p.a = v[0];
    p.b = v[1];
#    else
    const ulonglong2 v = *(const ulonglong2 *)address;

    p.a = v.x;
    p.b = v.y;
#    endif
#else
    (void)by;
    memcpy(&p, (const void *)(size_t)address, sizeof(p));
#endif
    return p;
}

/* size is 1, 2, 4 or 8, and the address a multiple of it. */
DEVICE tc_u64 load(tc_u64 address, tc_u32 size)
{
#if TC_KERNEL_ON_DEVICE
    switch (size) {
    case 8:
        return *(const GLOBAL tc_u64 *)address;
    case 4:
        return *(const GLOBAL tc_u32 *)address;
    case 2:
        return *(const GLOBAL unsigned short *)address;
    default:
        return *(const GLOBAL unsigned char *)address;
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
        const tc_u64 i = item->begins + (byte + k) / item->item_size;

        x |= load_some(item->data + place_of(item, i) + (byte + k) % item->item_size, size)
             << 8 * k;
    }
    return x;
}

/* How many bytes of the word at this one are there: 8 at most. */
DEVICE tc_u32 left_of(tc_u64 size, tc_u64 byte)
{
    return byte >= size ? 0u : size - byte < 8 ? (tc_u32)(size - byte) : 8u;
}

/* With zeros behind the end. */
DEVICE tc_u64 word_at(const struct tc_kernel_item *item, tc_u64 byte)
{
    const tc_u32 left = left_of(item->size, byte);

    if (item->n_dims)
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
#if defined(__HIP__)
    return (tc_u64)((tc_quarters)a > (tc_quarters)b ? (tc_quarters)a : (tc_quarters)b);
#elif TC_KERNEL_ON_DEVICE
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

/* Repeated up to a word. */
DEVICE tc_u64 first_of(const struct tc_kernel_item *item)
{
    const tc_u64 element = load_some(item->data, item->item_size);
    tc_u64 word = element;

    for (tc_u32 k = item->item_size; k < 8; k += item->item_size)
        word |= element << 8 * k;
    return word;
}

/* From here on the item is one of its rows. */
DEVICE void take_row(struct tc_kernel_item *item, tc_u64 row)
{
    item->size /= item->n_rows;
    item->tile = item->size;
    if (item->n_dims)
        item->begins = row * (item->size / item->item_size);
    else
        item->data += row * item->size;
}

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
        if (t == 0) {
            s->first = (s->item.what & TC_KERNEL_FIRST) && s->item.size ? first_of(&s->item) : 0;
            s->bytes_at = s->item.at / 8 + tc_kernel_at(&s->item, TC_KERNEL_BYTES);
            s->digest = s->item.seed;
            if (s->item.what & TC_KERNEL_ROWS)
                take_row(&s->item, tile->number);
        }
    }
}

/* What is asked of each word. */
#define BY_WORDS (TC_KERNEL_FINITE | TC_KERNEL_SAME | TC_KERNEL_FIRST | TC_KERNEL_BYTES)
/* And what a tile is read for. */
#define BY_TILES (BY_WORDS | TC_KERNEL_DIGEST | TC_KERNEL_MAGNITUDE | TC_KERNEL_ROWS)

/* What else than sums and magnitudes is asked of the word at this byte. */
SELDOM void take_word(const struct block *s, struct found *found, tc_u64 byte, tc_u64 word,
                      tc_u64 *out)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u32 left = left_of(item->size, byte);
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
        out[s->bytes_at + byte / 8] = word;
}

DEVICE void add_products(const struct block *s, tc_u64 *sums, tc_u32 v, struct pair p)
{
    sums[0] += product(p.a, s->keys[2 * v]) + p.b;
    sums[1] += product(p.b, s->keys[2 * v + 1]) + p.a;
}

DEVICE void take_pair(const struct block *s, struct found *found, tc_u64 *sums, tc_u32 v,
                      struct pair p)
{
    const tc_u32 number = s->item.number;

    add_products(s, sums, v, p);
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
        if (s->item.what & BY_WORDS) {
            take_word(s, found, at, p.a, out);
            take_word(s, found, at + 8, p.b, out);
        }
    }
}

/* The chunk of a warp. */
DEVICE void take_chunk(struct block *s, tc_u32 t, tc_u32 slot, tc_u64 byte, tc_u32 by, tc_u64 *out)
{
    const int is_more = (s->item.what & BY_WORDS) != 0;
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
    s->room.sums[slot][t % WARP][0] = sums[0];
    s->room.sums[slot][t % WARP][1] = sums[1];
}

/* What the addresses of the tensor are multiples of: 16 or 4, 0 where it is read word by word. */
DEVICE tc_u32 alignment_of(const struct tc_kernel_item *item)
{
    if (item->n_dims)
        return 0;
    return item->data % 16 == 0 ? 16 : item->data % 4 == 0 ? 4 : 0;
}

/* What a lane of a chunk in hand adds to the digest. */
DEVICE tc_u64 placed(const struct block *s, tc_u32 slot, tc_u32 lane, tc_u64 chunk)
{
    tc_u64 sum = 0;

    for (tc_u32 j = 0; j < LANES; j++)
        sum += s->room.sums[slot][lane / 2 + 4 * j][lane % 2];
    return mix(sum + (chunk * LANES + lane + 1) * GOLDEN);
}

DEVICE void place_lanes(struct block *s, tc_u32 t, tc_u64 first_chunk, tc_u32 n_chunks)
{
    const tc_u32 slot = t / LANES;

    if (slot < n_chunks)
        s->found[t].digest += placed(s, slot, t % LANES, first_chunk + slot);
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
            if (item->what & (TC_KERNEL_DIGEST | TC_KERNEL_ROWS))
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

/* ---- digests of pieces ---- */

/* Of data of that size. */
DEVICE tc_u64 digest_of(tc_u64 sum, tc_u64 size, tc_u64 seed)
{
    return mix(sum + mix(seed + (size + 1) * GOLDEN));
}

/* Where piece i begins (digest.h). */
DEVICE tc_u64 piece_at(const struct tc_kernel_item *item, tc_u64 i)
{
    const tc_u64 last = item->n_pieces - 1;

    if (!(item->what & TC_KERNEL_STRIPES))
        return (item->size - item->piece_size) * i / last;
    return i < last ? i * (item->size / last) : item->size - item->piece_size;
}

/* By a warp. */
DEVICE void take_piece(struct block *s, tc_u32 t, tc_u32 slot, tc_u64 number)
{
    const tc_u64 from = s->item.data + piece_at(&s->item, number);
    tc_u64 sums[2] = {0, 0};

    ROLL for (tc_u32 k = 0; k < VECTORS; k++)
    {
        const tc_u32 v = t % WARP + WARP * k, size = s->item.piece_size;
        struct pair p;

        p.a = load_some(from + 16 * v, left_of(size, 16 * v));
        p.b = load_some(from + 16 * v + 8, left_of(size, 16 * v + 8));
        add_products(s, sums, v, p);
    }
    s->room.sums[slot][t % WARP][0] = sums[0];
    s->room.sums[slot][t % WARP][1] = sums[1];
}

/* Of those in hand, each of which is the first chunk of its piece. */
DEVICE void sum_piece(struct block *s, tc_u32 slot)
{
    tc_u64 sum = 0;

    ROLL for (tc_u32 lane = 0; lane < LANES; lane++) sum += placed(s, slot, lane, 0);
    s->pieces[slot] = sum;
}

/* The digest of one is the seed of the next. */
SELDOM void take_pieces(struct block *s)
{
    for (tc_u32 first = 0; first < s->item.n_pieces; first += TC_KERNEL_CHUNKS) {
        const tc_u32 left = s->item.n_pieces - first;
        const tc_u32 n = left < TC_KERNEL_CHUNKS ? left : TC_KERNEL_CHUNKS;

        EACH_THREAD(t)
        {
            for (tc_u32 slot = t / WARP; slot < n; slot += N_WARPS)
                take_piece(s, t, slot, first + slot);
        }
        EACH_THREAD(t)
        {
            if (t < n)
                sum_piece(s, t);
        }
        EACH_THREAD(t)
        {
            for (tc_u32 i = 0; t == 0 && i < n; i++)
                s->digest = digest_of(s->pieces[i], s->item.piece_size, s->digest);
        }
    }
}

/* ---- elements ---- */

SELDOM tc_u64 bits_apart(const struct tc_kernel_item *item, tc_u64 i)
{
    return load_some(item->data + place_of(item, i), item->item_size);
}

DEVICE tc_u64 bits_at(const struct tc_kernel_item *item, tc_u64 i)
{
    return item->n_dims || item->data % item->item_size
               ? bits_apart(item, i)
               : load(item->data + i * item->item_size, item->item_size);
}

/* Of a floating point number its bits. */
DEVICE tc_i64 element_of(const struct tc_kernel_item *item, tc_u64 x)
{
    const tc_u32 rest = 64 - 8 * item->item_size;

    return item->is_signed || item->number ? (tc_i64)(x << rest) >> rest : (tc_i64)x;
}

SELDOM tc_i64 element_at(const struct tc_kernel_item *item, tc_u64 i)
{
    return element_of(item, bits_at(item, i));
}

/* Elements that a thread reads before it looks at them: memory takes long to answer. */
#define AHEAD 4u

DEVICE void read_ahead(const struct tc_kernel_item *item, tc_u64 i, tc_u64 n, tc_u64 *x)
{
    UNROLL
    for (tc_u32 k = 0; k < AHEAD; k++)
        x[k] = i + k * TC_KERNEL_THREADS < n ? bits_at(item, i + k * TC_KERNEL_THREADS) : 0;
}

DEVICE tc_u64 n_elements(const struct tc_kernel_item *item)
{
    return item->size / item->item_size;
}

/* Bits of numbers, but for the sign, are in the order of the numbers: those of negative ones turned
 * round compare as integers, a negative zero as -1. The same turns them back. */
DEVICE tc_i64 key_of(tc_u32 number, tc_i64 bits)
{
    return bits < 0 ? bits ^ (tc_i64)((1ull << (bits_of(number) - 1)) - 1) : bits;
}

DEVICE int is_finite(tc_u32 number, tc_i64 bits)
{
    return ((tc_u64)bits & ((1ull << (bits_of(number) - 1)) - 1)) < infinity_of(number);
}

DEVICE void count_number(struct counted *c, tc_u32 number, tc_i64 bits)
{
    const tc_i64 key = key_of(number, bits);

    if (!is_finite(number, bits))
        return;
    c->min = key < c->min ? key : c->min;
    c->max = key > c->max ? key : c->max;
    c->negative += key < -1;
    c->zero += key > 0;
    c->one++;
}

DEVICE void count_integer(struct counted *c, tc_i64 x)
{
    c->min = x < c->min ? x : c->min;
    c->max = x > c->max ? x : c->max;
    c->negative += x < 0;
    c->zero += x == 0;
    c->one += x == 1;
}

/* Is element i of a column that shows another one at first? */
DEVICE tc_u32 differs_at(const struct tc_kernel_item *item, tc_u64 i, tc_i64 x, const tc_i64 *shown)
{
    const tc_u32 column = item->n_columns ? (tc_u32)i % item->n_columns : 0;

    if (!item->n_columns)
        return 0;
    return (column == 0 && x != shown[0] ? TC_KERNEL_HAS_FIRST : 0) |
           (column == item->n_columns - 1 && x != shown[1] ? TC_KERNEL_HAS_LAST : 0);
}

DEVICE void count_one(struct counted *c, const struct tc_kernel_item *item, tc_u64 i, tc_i64 x,
                      const tc_i64 *shown)
{
    if (item->number) {
        count_number(c, item->number, x);
        return;
    }
    count_integer(c, x);
    c->differs |= differs_at(item, i, x, shown);
}

DEVICE void count_some(struct block *s, tc_u32 t)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u64 n = n_elements(item);
    const tc_i64 shown[2] = {element_at(item, 0),
                             element_at(item, item->n_columns ? item->n_columns - 1 : 0)};
    struct counted c = {0x7fffffffffffffffll, -0x7fffffffffffffffll - 1, 0, 0, 0, 0};

    ROLL for (tc_u64 i = t; i < n; i += AHEAD * TC_KERNEL_THREADS)
    {
        tc_u64 x[AHEAD];

        read_ahead(item, i, n, x);
        UNROLL
        for (tc_u32 k = 0; k < AHEAD; k++)
            if (i + k * TC_KERNEL_THREADS < n)
                count_one(&c, item, i + k * TC_KERNEL_THREADS, element_of(item, x[k]), shown);
    }
    s->room.counted[t] = c;
}

DEVICE void add_counted(struct counted *to, const struct counted *from)
{
    to->min = from->min < to->min ? from->min : to->min;
    to->max = from->max > to->max ? from->max : to->max;
    to->negative += from->negative;
    to->zero += from->zero;
    to->one += from->one;
    to->differs |= from->differs;
}

DEVICE void count_all(struct block *s)
{
    EACH_THREAD(t)
    {
        count_some(s, t);
    }
    for (tc_u32 half = TC_KERNEL_THREADS / 2; half; half /= 2)
        EACH_THREAD(t)
        {
            if (t < half)
                add_counted(&s->room.counted[t], &s->room.counted[t + half]);
        }
    EACH_THREAD(t)
    {
        if (t == 0) {
            s->counted = s->room.counted[0];
            s->n_marks = 0;
        }
    }
}

DEVICE tc_u64 span_of(const struct counted *c)
{
    return (tc_u64)c->max - (tc_u64)c->min;
}

DEVICE void mark_some(struct block *s, tc_u32 t, tc_u64 base)
{
    const tc_u64 n = n_elements(&s->item);

    ROLL for (tc_u64 i = t; i < n; i += AHEAD * TC_KERNEL_THREADS)
    {
        tc_u64 x[AHEAD];

        read_ahead(&s->item, i, n, x);
        UNROLL
        for (tc_u32 k = 0; k < AHEAD; k++) {
            const tc_u64 mark = (tc_u64)element_of(&s->item, x[k]) - (tc_u64)s->counted.min - base;

            if (i + k * TC_KERNEL_THREADS < n && mark < N_MARKS)
                ATOMIC_OR(&s->room.marks[mark / 32], 1u << mark % 32);
        }
    }
}

/* How many different ones there are. */
DEVICE void count_different(struct block *s)
{
    for (tc_u64 base = 0; base <= span_of(&s->counted); base += N_MARKS) {
        EACH_THREAD(t)
        {
            for (tc_u32 i = t; i < N_MARKS / 32; i += TC_KERNEL_THREADS)
                s->room.marks[i] = 0;
        }
        EACH_THREAD(t)
        {
            mark_some(s, t, base);
        }
        EACH_THREAD(t)
        {
            tc_u32 n = 0;

            for (tc_u32 i = t; i < N_MARKS / 32; i += TC_KERNEL_THREADS)
                n += N_BITS(s->room.marks[i]);
            ATOMIC_ADD(&s->n_marks, n);
        }
    }
}

/* Returns the words. */
DEVICE tc_u64 put_pair(tc_u64 *at, tc_u32 item_size, tc_u64 a, tc_u64 b)
{
    if (item_size == 8) {
        at[0] = a;
        at[1] = b;
        return 2;
    }
    at[0] = (a & LOW) | b << 32;
    return 1;
}

DEVICE void put_summary(const struct block *s, tc_u64 *at)
{
    const struct tc_kernel_item *item = &s->item;
    const struct counted *c = &s->counted;
    const int is_narrow = span_of(c) < TC_KERNEL_MAX_SPAN;
    const tc_u64 none = (tc_u64)c->min - 1;
    const tc_u64 fourth =
        is_narrow ? s->n_marks - 1 : ~c->differs & (TC_KERNEL_HAS_FIRST | TC_KERNEL_HAS_LAST);

    at += put_pair(at, item->item_size, (tc_u64)c->min, (tc_u64)c->max);
    if (item->n_columns)
        at += put_pair(
            at, item->item_size,
            c->differs & TC_KERNEL_HAS_FIRST ? none : (tc_u64)element_at(item, 0),
            c->differs & TC_KERNEL_HAS_LAST ? none : (tc_u64)element_at(item, item->n_columns - 1));
    *at = (c->negative & 0xffff) | (c->zero & 0xffff) << 16 | (tc_u64)(c->one & 0xffff) << 32 |
          fourth << 48;
}

DEVICE void put_range(const struct block *s, tc_u64 *at)
{
    const struct tc_kernel_item *item = &s->item;
    const struct counted *c = &s->counted;

    at += put_pair(at, item->item_size, (tc_u64)key_of(item->number, c->min),
                   (tc_u64)key_of(item->number, c->max));
    *at = c->negative | (tc_u64)c->zero << TC_KERNEL_COUNT_BITS |
          (tc_u64)c->one << 2 * TC_KERNEL_COUNT_BITS;
}

/* SUMMARY and RANGE. */
SELDOM void count(struct block *s, tc_u64 *answers)
{
    const tc_u32 flag = s->item.what & (TC_KERNEL_SUMMARY | TC_KERNEL_RANGE);

    count_all(s);
    if (flag == TC_KERNEL_SUMMARY && span_of(&s->counted) < TC_KERNEL_MAX_SPAN)
        count_different(s);
    EACH_THREAD(t)
    {
        if (t == 0 && flag == TC_KERNEL_SUMMARY)
            put_summary(s, answers + tc_kernel_at(&s->item, flag));
        else if (t == 0)
            put_range(s, answers + tc_kernel_at(&s->item, flag));
    }
}

/* ---- scales ---- */

DEVICE double double_of_bits(tc_u64 bits)
{
#if TC_KERNEL_ON_DEVICE
    return __longlong_as_double((tc_i64)bits);
#else
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
#endif
}

DEVICE tc_u64 bits_of_double(double x)
{
#if TC_KERNEL_ON_DEVICE
    return (tc_u64)__double_as_longlong(x);
#else
    tc_u64 bits;

    memcpy(&bits, &x, sizeof(x));
    return bits;
#endif
}

DEVICE double double_of_float(tc_u32 bits)
{
#if TC_KERNEL_ON_DEVICE
    return (double)__uint_as_float(bits);
#else
    float x;

    memcpy(&x, &bits, sizeof(x));
    return (double)x;
#endif
}

DEVICE double number_of(tc_u32 number, tc_u64 bits)
{
    const tc_u32 width = bits_of(number);
    const tc_u64 magnitude = bits & ((1ull << (width - 1)) - 1);
    const tc_u32 sign = (tc_u32)(bits >> (width - 1)) << 31;

    if (number == F64)
        return double_of_bits(bits);
    return double_of_float(sign | (tc_u32)(number == F16    ? float_of_half(magnitude)
                                           : number == BF16 ? magnitude << 16
                                                            : magnitude));
}

/* Of 32 bits what a pair of them holds: min and max are numbers of the tensor, but for halves. */
DEVICE tc_u64 bits_for_pair(const struct tc_kernel_item *item, double x)
{
#if TC_KERNEL_ON_DEVICE
    return item->item_size == 8 ? bits_of_double(x) : (tc_u64)__float_as_uint((float)x);
#else
    const float single = (float)x;
    tc_u32 bits;

    memcpy(&bits, &single, sizeof(bits));
    return item->item_size == 8 ? bits_of_double(x) : bits;
#endif
}

/* Each rounded by itself: the CPU says the same, in the same order. */
DEVICE double add_square(double sum, double x)
{
    NO_FUSING
    const double square = MULTIPLY(x, x);

    return sum + square;
}

#define ONE_F64 (1ull << 52) /* the bit above those of a fraction */

/* Of a number that is neither negative nor none, rounded to the nearest: not all devices' own is.
 * Digit by digit, of twice as many as the root has and of one more that says how to round. */
SELDOM double root_of(double x)
{
    const tc_u64 bits = bits_of_double(x);
    int exponent = (int)(bits >> 52);
    tc_u64 digits = exponent ? (bits & (ONE_F64 - 1)) | ONE_F64 : bits, left = 0, root = 0;

    if (!bits || exponent == 0x7ff)
        return x;
    for (exponent -= 1023 - !exponent; digits < ONE_F64; digits *= 2)
        exponent--;
    if (exponent % 2) {
        digits *= 2;
        exponent--;
    }
    ROLL for (int i = 0; i < 54; i++)
    {
        const tc_u64 least = root << 2 | 1;
        tc_u32 is_one;

        left = left << 2 | (i < 27 ? digits >> (52 - 2 * i) & 3 : 0);
        is_one = left >= least;
        left -= is_one ? least : 0;
        root = root << 1 | is_one;
    }
    return double_of_bits(((tc_u64)(exponent / 2 + 1023) << 52) + ((root + 1) >> 1) - ONE_F64);
}

DEVICE int is_finite_number(double x)
{
    return is_finite(F64, (tc_i64)bits_of_double(x));
}

/* By one thread, from the first to the last, as summary.c. */
DEVICE void put_scale(const struct block *s, tc_u64 *at)
{
    const tc_u64 size = n_elements(&s->item);
    const tc_u32 n_read = size < TC_KERNEL_N_SCALED ? (tc_u32)size : TC_KERNEL_N_SCALED;
    double squares = 0, min = 0, max = 0;
    tc_u32 n = 0;

    ROLL for (tc_u32 i = 0; i < n_read; i++)
    {
        const double x = s->room.scaled[i];

        if (!is_finite_number(x))
            continue;
        min = n && min < x ? min : x;
        max = n && max > x ? max : x;
        n++;
        squares = add_square(squares, x);
    }
    at[0] = bits_of_double(n ? root_of(squares / n) : -1.0);
    put_pair(at + 1, s->item.item_size, bits_for_pair(&s->item, min), bits_for_pair(&s->item, max));
}

/* As tc_scaled_at(). */
DEVICE tc_u64 scaled_at(tc_u64 n, tc_u64 i)
{
    const tc_u64 scattered = i * 0x9E3779B1u >> 16 & 0xFFFF;

    return n < TC_KERNEL_N_SCALED
               ? i
               : i * n / TC_KERNEL_N_SCALED + (scattered * (n / TC_KERNEL_N_SCALED) >> 16);
}

SELDOM void scale(struct block *s, tc_u64 *answers)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u64 n = n_elements(item);

    EACH_THREAD(t)
    {
        const tc_u64 n_read = n < TC_KERNEL_N_SCALED ? n : TC_KERNEL_N_SCALED;

        for (tc_u64 i = t; i < n_read; i += TC_KERNEL_THREADS)
            s->room.scaled[i] = number_of(item->number, (tc_u64)element_at(item, scaled_at(n, i)) &
                                                            (~0ull >> (64 - 8 * item->item_size)));
    }
    EACH_THREAD(t)
    {
        if (t == 0)
            put_scale(s, answers + tc_kernel_at(item, TC_KERNEL_SCALE));
    }
}

/* ---- answers ---- */

/* They begin as zero; where one tile is all there is, they need not. */
DEVICE void put(tc_u64 *answers, const struct tc_kernel_item *item, tc_u32 flag, tc_u64 x)
{
    tc_u64 *at = answers + tc_kernel_at(item, flag);

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

/* The half of a word, or the second word, is that of the first tile. */
DEVICE void put_first(tc_u64 *answers, const struct block *s, tc_u32 number)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u64 differs = s->found[0].differs & TC_KERNEL_FIRST;

    if (item->item_size == 8 && number == 0 && (item->what & TC_KERNEL_FIRST))
        answers[tc_kernel_at(item, TC_KERNEL_FIRST) + 1] = s->first;
    put(answers, item, TC_KERNEL_FIRST,
        item->item_size == 8 || number ? differs : differs | s->first << 32);
}

/* And nothing in the other half of the last word. */
DEVICE void put_row(const struct block *s, tc_u32 number, tc_u32 *rows)
{
    const struct tc_kernel_item *item = &s->item;

    rows[number] =
        (tc_u32)(item->n_pieces ? s->digest : digest_of(s->found[0].digest, item->size, 0));
    if (number + 1 == item->n_rows && item->n_rows % 2)
        rows[item->n_rows] = 0;
}

DEVICE void put_digest(const struct block *s, tc_u32 number, tc_u64 *answers)
{
    if (s->item.what & TC_KERNEL_STRIPES)
        answers[0] = s->digest;
    else if (s->item.what & TC_KERNEL_ROWS)
        put_row(s, number, (tc_u32 *)(void *)answers);
    else
        put(answers, &s->item, TC_KERNEL_DIGEST, s->found[0].digest);
}

DEVICE void put_all(const struct block *s, tc_u32 number, tc_u64 *answers)
{
    const struct tc_kernel_item *item = &s->item;
    const struct found *found = &s->found[0];

    put_digest(s, number, answers);
    put(answers, item, TC_KERNEL_MAGNITUDE, answer_of_largest(item->number, found->largest));
    put(answers, item, TC_KERNEL_FINITE, found->flags);
    put(answers, item, TC_KERNEL_SAME, found->differs & TC_KERNEL_SAME);
    put_first(answers, s, number);
}

DEVICE void work(struct block *s, const struct tc_kernel_item *items,
                 const struct tc_kernel_tile *tile, tc_u64 *out)
{
    tc_u64 *answers = out + items[tile->item].at / 8;

    begin(s, items, tile);
    if (s->item.n_pieces)
        take_pieces(s);
    else if (s->item.what & BY_TILES)
        take_tile(s, s->item.n_rows ? 0 : tile->number * s->item.tile, out);
    gather_found(s);
    EACH_THREAD(t)
    {
        if (t == 0)
            put_all(s, tile->number, answers);
    }
    if (s->item.what & (TC_KERNEL_SUMMARY | TC_KERNEL_RANGE))
        count(s, answers);
    if ((s->item.what & TC_KERNEL_SCALE) && tile->number == 0)
        scale(s, answers);
}

#if TC_KERNEL_ON_DEVICE
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
