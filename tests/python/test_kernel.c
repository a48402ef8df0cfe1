/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel.c - the kernel compiled as C says of memory what the CPU's code says
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/look/digest.h"
#include "collect/agent/look/kernel.h"
#include "collect/agent/look/lanes.h"
#include "collect/agent/look/packed.h"

#define MAX_SIZE ((size_t)64 << 20)
#define N_CASES  3000
#define GUARD    64 /* bytes behind the answers, which nothing may write to */
/* What may be asked together. */
#define EVERYTHING (2 * TC_KERNEL_BYTES - 1)
#define ALONE      (TC_KERNEL_STRIPES | TC_KERNEL_ROWS)
#define COUNTED    (TC_KERNEL_SUMMARY | TC_KERNEL_RANGE)

static const size_t item_sizes[] = {
    [TC_NUMBER_OTHER] = 0, [TC_NUMBER_F16] = 2, [TC_NUMBER_BF16] = 2,
    [TC_NUMBER_F32] = 4,   [TC_NUMBER_F64] = 8,
};

/* A tensor, what is asked of it, and its bytes in logical order. */
struct tensor {
    struct tc_kernel_item item;
    unsigned char *memory, *other, *logical;
    size_t n;
};

static uint64_t seed = 88172645463325252u;

static size_t below(size_t n)
{
    return (size_t)(unit_random(&seed) % n);
}

/* ---- tensors ---- */

static void set_number(unsigned char *at, enum tc_number number, double x)
{
    const float single = (float)x;
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &single, sizeof(bits));
    if (number == TC_NUMBER_F64) {
        memcpy(at, &x, sizeof(x));
    } else if (number == TC_NUMBER_F32) {
        memcpy(at, &single, sizeof(single));
    } else { /* of binary16 only what the infinities have */
        half = number == TC_NUMBER_BF16 ? (uint16_t)(bits >> 16)
               : isinf(x)               ? (uint16_t)(x < 0 ? 0xfc00 : 0x7c00)
                                        : (uint16_t)(bits >> 16 & 0x83ff);
        memcpy(at, &half, sizeof(half));
    }
}

/* Random bits, which for numbers are mostly finite in one kind, and what is infinite in others. */
static void fill(unsigned char *at, size_t size, enum tc_number number)
{
    const size_t kind = below(5), item = item_sizes[number];

    for (size_t i = 0; i + 8 <= size; i += 8) {
        const uint64_t word = unit_random(&seed);
        memcpy(at + i, &word, 8);
    }
    for (size_t i = size & ~(size_t)7; i < size; i++)
        at[i] = (unsigned char)unit_random(&seed);
    if (kind == 0 && item <= 8) /* constant */
        for (size_t i = item; item && i + item <= size; i += item)
            memcpy(at + i, at, item);
    for (size_t i = 0; item && kind > 1 && i + item <= size; i += item)
        set_number(at + i, number, kind > 2 && below(100) == 0 ? -INFINITY : (double)below(100));
    if (kind == 4 && item && size >= item)
        set_number(at + below(size / item) * item, number, below(2) ? INFINITY : (double)NAN);
}

/* Bytes of memory that the element behind the last one would need. */
static size_t lay_out(struct tc_kernel_item *item, const size_t *shape, const size_t *order,
                      size_t n_dims, size_t gap)
{
    size_t stride = item->item_size * gap;

    for (size_t i = n_dims; i > 0; i--) {
        const size_t d = order[i - 1];
        item->shape[d] = shape[d];
        item->stride[d] = stride;
        stride *= shape[d];
    }
    item->n_dims = (tc_u32)n_dims;
    return stride;
}

/* A shape of about n elements, in an order of dimensions that is not that of the memory. */
static size_t choose_strides(struct tensor *t, size_t n)
{
    size_t shape[TC_KERNEL_MAX_DIMS], order[TC_KERNEL_MAX_DIMS];
    const size_t n_dims = 2 + below(TC_KERNEL_MAX_DIMS - 1);

    t->n = 1;
    for (size_t d = 0; d < n_dims; d++) {
        shape[d] = d + 1 < n_dims ? 1 + below(6) : n / t->n + 1;
        t->n *= shape[d];
        order[d] = d;
    }
    for (size_t d = n_dims - 1; d > 0; d--) {
        const size_t e = below(d + 1), swap = order[d];
        order[d] = order[e];
        order[e] = swap;
    }
    return lay_out(&t->item, shape, order, n_dims, 1 + below(2));
}

static size_t place_of(const struct tc_kernel_item *item, size_t i)
{
    size_t at = 0;

    if (!item->n_dims)
        return i * item->item_size;
    for (size_t d = item->n_dims; d > 0; d--) {
        at += i % item->shape[d - 1] * item->stride[d - 1];
        i /= item->shape[d - 1];
    }
    return at;
}

static void tensor_init(struct tensor *t, size_t n, enum tc_number number, size_t item_size,
                        bool is_strided, size_t offset)
{
    size_t span;

    memset(t, 0, sizeof(*t));
    t->n = n;
    t->item.item_size = (tc_u32)item_size;
    t->item.number = number;
    t->item.is_signed = item_size > 1;
    span = is_strided && n ? choose_strides(t, n) : n * item_size;
    t->item.size = t->n * item_size;
    t->item.tile = TC_KERNEL_GROUP * (1 + below(3));
    t->memory = malloc(span + offset + 1);
    t->logical = malloc(t->item.size + 1);
    t->other = malloc(t->item.size + 1);
    assert_true(t->memory && t->logical && t->other);
    fill(t->memory + offset, span, number);
    t->item.data = (tc_u64)(uintptr_t)(t->memory + offset);
    t->item.other = (tc_u64)(uintptr_t)t->other;
    for (size_t i = 0; i < t->n; i++)
        memcpy(t->logical + i * item_size, t->memory + offset + place_of(&t->item, i), item_size);
    memcpy(t->other, t->logical, t->item.size);
}

static void tensor_release(struct tensor *t)
{
    free(t->memory);
    free(t->logical);
    free(t->other);
}

/* ---- the kernel ---- */

/* The answers: they are the caller's. Blocks run in an order of their own. */
static unsigned char *run(const struct tc_kernel_item *item)
{
    const size_t n = item->n_rows ? item->n_rows
                     : item->size ? (item->size + item->tile - 1) / item->tile
                                  : 1;
    const size_t size = 8 * tc_kernel_at(item, 2 * TC_KERNEL_BYTES);
    unsigned char *out = calloc(1, size + GUARD);
    const size_t first = below(n);

    assert_non_null(out);
    memset(out + size, 0xaa, GUARD);
    for (size_t i = 0; i < n; i++) {
        const struct tc_kernel_tile tile = {0, (tc_u32)((first + i) % n)};
        tc_kernel_block(item, &tile, (tc_u64 *)(void *)out, 0);
    }
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(out[size + i], 0xaa);
    return out;
}

static uint64_t word_of(const unsigned char *out, const struct tc_kernel_item *item, tc_u32 flag)
{
    uint64_t x;

    memcpy(&x, out + 8 * tc_kernel_at(item, flag), sizeof(x));
    return x;
}

static const unsigned char *answer_to(const unsigned char *out, const struct tc_kernel_item *item,
                                      tc_u32 flag)
{
    return out + 8 * tc_kernel_at(item, flag);
}

static double magnitude_of(const unsigned char *out, const struct tc_kernel_item *item)
{
    const uint64_t bits = word_of(out, item, TC_KERNEL_MAGNITUDE);
    const uint32_t half = (uint32_t)bits;
    double x;
    float single;

    memcpy(&x, &bits, sizeof(x));
    memcpy(&single, &half, sizeof(single));
    x = item->number == TC_NUMBER_F64 ? x : (double)single;
    return isfinite(x) ? x : (double)INFINITY;
}

static void check_numbers(const unsigned char *out, const struct tensor *t)
{
    const struct tc_kernel_item *item = &t->item;
    const double expected = tc_max_abs(t->logical, t->n, item->number);
    uint64_t flags;

    if (item->what & TC_KERNEL_MAGNITUDE)
        assert_true(magnitude_of(out, item) == expected);
    if (!(item->what & TC_KERNEL_FINITE))
        return;
    flags = word_of(out, item, TC_KERNEL_FINITE);
    assert_int_equal(flags == TC_KERNEL_NUMBER, t->n && !isinf(expected));
    assert_int_equal(flags == (TC_KERNEL_NUMBER | TC_KERNEL_LOWEST),
                     isinf(expected) && tc_is_masked(t->logical, t->n, item->number));
}

static bool is_constant(const struct tensor *t)
{
    for (size_t i = 1; i < t->n; i++)
        if (memcmp(t->logical, t->logical + i * t->item.item_size, t->item.item_size) != 0)
            return false;
    return true;
}

static enum tc_integer integer_of(const struct tc_kernel_item *item)
{
    return item->item_size == 8   ? TC_INTEGER_I64
           : item->item_size == 4 ? TC_INTEGER_I32
           : item->item_size == 2 ? TC_INTEGER_I16
           : item->is_signed      ? TC_INTEGER_I8
                                  : TC_INTEGER_U8;
}

static void check_summary(const unsigned char *sent, const struct tensor *t)
{
    struct tc_summary expected, found;
    const enum tc_integer kind = integer_of(&t->item);

    tc_summarize(t->logical, t->n, t->item.n_columns, kind, &expected);
    tc_packed_summary(sent, t->n, t->item.n_columns, kind, &found);
    assert_int_equal(found.min, expected.min);
    assert_int_equal(found.max, expected.max);
    assert_int_equal(found.n_negative, expected.n_negative);
    assert_int_equal(found.n_zero, expected.n_zero);
    assert_int_equal(found.n_one, expected.n_one);
    assert_int_equal(found.n_distinct, expected.n_distinct);
    assert_int_equal(found.has_first, expected.has_first);
    assert_int_equal(found.has_last, expected.has_last);
    if (expected.has_first)
        assert_int_equal(found.first, expected.first);
    if (expected.has_last)
        assert_int_equal(found.last, expected.last);
}

/* A zero's sign, too. */
static void assert_same_number(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof(a));
}

static void check_range(const unsigned char *sent, const struct tensor *t)
{
    struct tc_range expected, found;

    tc_range(t->logical, t->n, t->item.number, &expected);
    tc_packed_range(sent, t->item.number, &found);
    assert_int_equal(found.n, expected.n);
    if (!expected.n)
        return;
    assert_same_number(found.min, expected.min);
    assert_same_number(found.max, expected.max);
    assert_int_equal(found.n_negative, expected.n_negative);
    assert_int_equal(found.n_positive, expected.n_positive);
}

static void check_scale(const unsigned char *sent, const struct tensor *t)
{
    struct tc_scale expected, found;

    tc_scale(t->logical, t->n, t->item.item_size, t->item.number, &expected);
    tc_packed_scale(sent, t->item.number, &found);
    assert_int_equal(found.n != 0, expected.n != 0);
    if (!expected.n)
        return;
    assert_same_number(found.rms, expected.rms);
    assert_same_number(found.min, expected.min);
    assert_same_number(found.max, expected.max);
}

/* What all of it says, for a table of one tensor. */
static void check(struct tensor *t, tc_u32 what)
{
    struct tc_kernel_item *item = &t->item;
    bool is_other = (what & TC_KERNEL_SAME) && item->size && below(2);
    unsigned char *out;

    what &= ~ALONE;
    if (item->number == TC_NUMBER_OTHER)
        what &= ~(TC_KERNEL_MAGNITUDE | TC_KERNEL_FINITE | TC_KERNEL_RANGE | TC_KERNEL_SCALE);
    if (item->number != TC_NUMBER_OTHER || item->item_size > 8)
        what &= ~TC_KERNEL_SUMMARY;
    if (item->item_size > 8)
        what &= ~TC_KERNEL_FIRST;
    if (!t->n || t->n > TC_KERNEL_MAX_COUNTED)
        what &= ~(COUNTED | TC_KERNEL_SCALE);
    if (what & COUNTED)
        item->tile = (item->size + TC_KERNEL_GROUP - 1) / TC_KERNEL_GROUP * TC_KERNEL_GROUP;
    item->what = what;
    if (is_other)
        t->other[below(item->size)] ^= (unsigned char)(1u << below(8));
    out = run(item);
    if (what & TC_KERNEL_DIGEST)
        assert_int_equal(word_of(out, item, TC_KERNEL_DIGEST),
                         tc_lanes_sum(t->logical, item->size));
    check_numbers(out, t);
    if (what & TC_KERNEL_SAME)
        assert_int_equal(word_of(out, item, TC_KERNEL_SAME) != 0, is_other);
    if (what & TC_KERNEL_BYTES)
        assert_memory_equal(answer_to(out, item, TC_KERNEL_BYTES), t->logical, item->size);
    if ((what & TC_KERNEL_FIRST) && t->n) {
        assert_int_equal(*answer_to(out, item, TC_KERNEL_FIRST) == 0, is_constant(t));
        assert_memory_equal(answer_to(out, item, TC_KERNEL_FIRST) + (item->item_size == 8 ? 8 : 4),
                            t->logical, item->item_size);
    }
    if (what & TC_KERNEL_SUMMARY)
        check_summary(answer_to(out, item, TC_KERNEL_SUMMARY), t);
    if (what & TC_KERNEL_RANGE)
        check_range(answer_to(out, item, TC_KERNEL_RANGE), t);
    if (what & TC_KERNEL_SCALE)
        check_scale(answer_to(out, item, TC_KERNEL_SCALE), t);
    free(out);
}

/* ---- tests ---- */

/* Around the sizes of words, vectors, chunks and groups, and whatever lies between. */
static size_t choose_size(void)
{
    static const size_t edges[] = {0, 8, 16, 64, 4096, TC_KERNEL_GROUP, 2 * TC_KERNEL_GROUP};
    const size_t edge = edges[below(sizeof(edges) / sizeof(edges[0]))];

    switch (below(3)) {
    case 0:
        return edge + below(20);
    case 1:
        return below(10000);
    default:
        return below(200) == 0 ? below(1 << 20) : edge;
    }
}

static void of_any_tensor_it_says_what_the_cpu_says(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    size_t n_strided = 0;

    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        const enum tc_number number = (enum tc_number)below(5);
        const size_t item_size = number ? item_sizes[number] : sizes[below(5)];
        const size_t n = choose_size() / item_size, offset = below(5) * (item_size & 15);
        const bool is_strided = below(3) == 0;
        struct tensor t;

        tensor_init(&t, n, number, item_size, is_strided, offset);
        n_strided += t.item.n_dims > 0;
        check(&t, 1 + (tc_u32)below(EVERYTHING));
        tensor_release(&t);
    }
    assert_true(n_strided > N_CASES / 10);
}

static void large_ones_are_divided_among_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct tensor t;

        tensor_init(&t, MAX_SIZE / 4 - (i == 1 ? 1 : 0), TC_NUMBER_F32, 4, i == 2, i == 1 ? 4 : 0);
        t.item.tile = TC_KERNEL_GROUP * 8;
        check(&t, TC_KERNEL_DIGEST | TC_KERNEL_MAGNITUDE | (i == 1 ? TC_KERNEL_FINITE : 0));
        tensor_release(&t);
    }
}

/* Any address, though no tensor of torch has it. */
static void bytes_lie_anywhere(void **state)
{
    (void)state;
    for (size_t offset = 0; offset < 33; offset++) {
        struct tensor t;

        tensor_init(&t, 9001 + offset, TC_NUMBER_OTHER, 1, false, offset);
        check(&t, TC_KERNEL_DIGEST | TC_KERNEL_SAME | TC_KERNEL_BYTES);
        tensor_release(&t);
    }
}

/* ---- what is told of elements ---- */

/* Integers of few or many values, at the ends of their types, with columns that show one value. */
static void fill_integers(struct tensor *t, size_t n_columns)
{
    static const uint64_t spans[] = {
        1, 2, 3, 50, 300, 65536, 65537, 200000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, UINT64_MAX};
    const uint64_t span = spans[below(sizeof(spans) / sizeof(spans[0]))];
    const uint64_t least = (uint64_t)1 << (8 * t->item.item_size - 1);
    const uint64_t bases[] = {0, 1, (uint64_t)-1, (uint64_t)-100, least, least - 1, least - span};
    const uint64_t base = bases[below(sizeof(bases) / sizeof(bases[0]))];
    const size_t shown = below(4);

    for (size_t i = 0; i < t->n; i++) {
        const size_t column = n_columns ? i % n_columns : 1;
        const bool is_shown = (column == 0 && shown & 1) || (column + 1 == n_columns && shown & 2);
        const uint64_t x = base + (is_shown ? 0 : unit_random(&seed) % span);

        memcpy(t->memory + place_of(&t->item, i), &x, t->item.item_size);
        memcpy(t->logical + i * t->item.item_size, &x, t->item.item_size);
    }
    t->item.n_columns = (tc_u32)n_columns;
}

static void integers_are_summed_up_as_the_cpu_does(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    static const size_t ns[] = {1, 2, 3, 255, 256, 257, 1000, 8192, 65535, 65536};

    (void)state;
    for (size_t i = 0; i < N_CASES / 3; i++) {
        const size_t n = ns[below(below(10) ? 7 : sizeof(ns) / sizeof(ns[0]))];
        struct tensor t;

        tensor_init(&t, n, TC_NUMBER_OTHER, sizes[below(4)], n < 60000 && below(4) == 0, 0);
        t.item.is_signed |= below(2);
        fill_integers(&t, below(3) ? 1 + below(t.n < 40 ? t.n : 40) : 0);
        check(&t, TC_KERNEL_SUMMARY | TC_KERNEL_DIGEST);
        tensor_release(&t);
    }
}

/* All of them are one value: of 65,536 the count has no bit left. */
static void as_many_as_are_counted_may_be_alike(void **state)
{
    (void)state;
    for (int64_t x = -1; x <= 2; x++) {
        struct tensor t;

        tensor_init(&t, TC_KERNEL_MAX_COUNTED, TC_NUMBER_OTHER, 8, false, 0);
        t.item.is_signed = true;
        for (size_t i = 0; i < t.n; i++)
            memcpy(t.logical + i * 8, &x, 8);
        memcpy(t.memory, t.logical, t.item.size);
        check(&t, TC_KERNEL_SUMMARY);
        tensor_release(&t);
    }
}

/* Zeros of both signs, numbers below the normal ones, and those that are none. */
static void numbers_are_bounded_as_the_cpu_does(void **state)
{
    static const uint64_t odd[] = {0, 1, 0x8000000000000000u, 0x8000000000000001u};

    (void)state;
    for (size_t i = 0; i < N_CASES / 3; i++) {
        const enum tc_number number = (enum tc_number)(1 + below(4));
        const size_t size = item_sizes[number], n = 1 + below(600);
        struct tensor t;

        tensor_init(&t, n, number, size, below(4) == 0, 0);
        for (size_t k = 0; k < t.n && below(3); k += 1 + below(3)) {
            const uint64_t bits = odd[below(4)] >> (64 - 8 * size) | odd[below(2)];
            memcpy(t.memory + place_of(&t.item, k), &bits, size);
            memcpy(t.logical + k * size, &bits, size);
        }
        check(&t, (TC_KERNEL_RANGE | TC_KERNEL_SCALE) & (1 + (tc_u32)below(EVERYTHING)));
        tensor_release(&t);
    }
}

/* Of tensors that are divided among blocks, too. */
static void elements_of_a_scale_are_taken_evenly(void **state)
{
    (void)state;
    for (size_t n = 1; n < 60000; n = n * 3 / 2 + 1) {
        struct tensor t;

        tensor_init(&t, n, n % 3 ? TC_NUMBER_F32 : TC_NUMBER_F64, n % 3 ? 4 : 8, n % 2, 0);
        check(&t, TC_KERNEL_SCALE | (n % 5 ? 0 : TC_KERNEL_DIGEST));
        tensor_release(&t);
    }
}

/* Their roots take numbers of all sizes: from the smallest there is to what has no square. */
static void scales_are_rounded_as_the_cpu_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20 * N_CASES; i++) {
        const size_t n = 1 + below(5);
        struct tensor t;

        tensor_init(&t, n, TC_NUMBER_F64, 8, false, 0);
        for (size_t k = 0; k < n; k++) {
            const uint64_t bits = unit_random(&seed) >> 12 | (uint64_t)below(0x7ff) << 52;
            memcpy(t.memory + 8 * k, &bits, 8);
            memcpy(t.logical + 8 * k, &bits, 8);
        }
        check(&t, TC_KERNEL_SCALE);
        tensor_release(&t);
    }
}

/* ---- digests of parts ---- */

static uint64_t row_of(const struct tensor *t, size_t size, size_t i)
{
    const unsigned char *row = t->logical + i * size;
    uint64_t digest = 0;

    if (!t->item.n_pieces)
        return tc_digest(row, size, 0);
    for (size_t k = 0; k < TC_N_PIECES; k++)
        digest = tc_digest(row + tc_piece_at(size, k), TC_PIECE_SIZE, digest);
    return digest;
}

static void check_rows(struct tensor *t, size_t n_rows)
{
    const size_t size = t->item.size / n_rows;
    unsigned char *out;

    t->item.what = TC_KERNEL_ROWS;
    t->item.n_rows = (tc_u32)n_rows;
    if (tc_rows_have_pieces(size, t->item.size) && !t->item.n_dims) {
        t->item.n_pieces = TC_N_PIECES;
        t->item.piece_size = TC_PIECE_SIZE;
    }
    out = run(&t->item);
    for (size_t i = 0; i < n_rows; i++) {
        uint32_t digest;

        memcpy(&digest, out + 4 * i, 4);
        assert_int_equal(digest, (uint32_t)row_of(t, size, i));
    }
    free(out);
}

static void rows_have_the_digests_that_the_cpu_tells(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 8};

    (void)state;
    for (size_t i = 0; i < N_CASES / 10; i++) {
        const size_t n_rows = 2 + below(255), item_size = sizes[below(4)];
        const size_t n_columns = 1 + below(below(8) ? 200 : 6000 / item_size);
        struct tensor t;

        tensor_init(&t, n_rows * n_columns, TC_NUMBER_OTHER, item_size, false,
                    below(5) * item_size);
        if (below(3) == 0 &&
            n_columns > 1) { /* each row with a gap behind it, or column by column */
            const bool is_turned = below(2);
            t.item.n_dims = 2;
            t.item.shape[0] = n_rows;
            t.item.shape[1] = n_columns;
            t.item.stride[0] = is_turned ? item_size : n_columns * item_size;
            t.item.stride[1] = is_turned ? n_rows * item_size : item_size;
            for (size_t k = 0; k < t.n; k++)
                memcpy(t.logical + k * item_size,
                       (const unsigned char *)(uintptr_t)t.item.data + place_of(&t.item, k),
                       item_size);
        }
        check_rows(&t, n_rows);
        tensor_release(&t);
    }
}

static void stripes_have_the_digest_that_the_cpu_tells(void **state)
{
    (void)state;
    for (size_t i = 0; i < 50; i++) {
        const size_t size = TC_N_STRIPES * TC_STRIPE_SIZE + 1 + below(1 << 20);
        struct tensor t;
        unsigned char *out;

        tensor_init(&t, size, TC_NUMBER_OTHER, 1, false, below(20));
        t.item.what = TC_KERNEL_STRIPES;
        t.item.seed = unit_random(&seed);
        t.item.n_pieces = TC_N_STRIPES + 1;
        t.item.piece_size = TC_STRIPE_SIZE;
        t.item.tile = (size / TC_KERNEL_GROUP + 1) * TC_KERNEL_GROUP;
        out = run(&t.item);
        assert_int_equal(word_of(out, &t.item, TC_KERNEL_STRIPES),
                         tc_digest_stripes(t.logical, size, t.item.seed));
        free(out);
        tensor_release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_any_tensor_it_says_what_the_cpu_says),
        cmocka_unit_test(large_ones_are_divided_among_blocks),
        cmocka_unit_test(bytes_lie_anywhere),
        cmocka_unit_test(integers_are_summed_up_as_the_cpu_does),
        cmocka_unit_test(as_many_as_are_counted_may_be_alike),
        cmocka_unit_test(numbers_are_bounded_as_the_cpu_does),
        cmocka_unit_test(elements_of_a_scale_are_taken_evenly),
        cmocka_unit_test(scales_are_rounded_as_the_cpu_does),
        cmocka_unit_test(rows_have_the_digests_that_the_cpu_tells),
        cmocka_unit_test(stripes_have_the_digest_that_the_cpu_tells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
