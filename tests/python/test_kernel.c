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

#define MAX_SIZE ((size_t)64 << 20)
#define N_CASES  3000
#define GUARD    64 /* bytes behind the answers, which nothing may write to */
#define EVERYTHING                                                                \
    (TC_KERNEL_DIGEST | TC_KERNEL_MAGNITUDE | TC_KERNEL_FINITE | TC_KERNEL_SAME | \
     TC_KERNEL_FIRST | TC_KERNEL_BYTES)

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
    const size_t n = item->size ? (item->size + item->tile - 1) / item->tile : 1;
    const size_t size = TC_KERNEL_AT(TC_KERNEL_BYTES, item->what) +
                        (item->what & TC_KERNEL_BYTES ? (item->size + 7) / 8 * 8 : 0);
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

    memcpy(&x, out + TC_KERNEL_AT(flag, item->what), sizeof(x));
    return x;
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

/* What all of it says, for a table of one tensor. */
static void check(struct tensor *t, tc_u32 what)
{
    struct tc_kernel_item *item = &t->item;
    bool is_other = (what & TC_KERNEL_SAME) && item->size && below(2);
    unsigned char *out;

    if (item->number == TC_NUMBER_OTHER)
        what &= ~(TC_KERNEL_MAGNITUDE | TC_KERNEL_FINITE);
    if (item->item_size > 8)
        what &= ~TC_KERNEL_FIRST;
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
        assert_memory_equal(out + TC_KERNEL_AT(TC_KERNEL_BYTES, what), t->logical, item->size);
    if ((what & TC_KERNEL_FIRST) && t->n) {
        assert_int_equal(word_of(out, item, TC_KERNEL_FIRST) == 0, is_constant(t));
        assert_memory_equal(out + TC_KERNEL_AT(TC_KERNEL_FIRST, what) + 8, t->logical,
                            item->item_size);
    }
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

/* As summary.c takes the elements of which a scale is told. */
static void elements_are_taken_evenly(void **state)
{
    (void)state;
    for (size_t n = 257; n < 100000; n = n * 3 / 2) {
        struct tensor t;
        unsigned char *out;

        tensor_init(&t, n, TC_NUMBER_F32, 4, n % 2, 0);
        t.item.n_from = t.n;
        t.item.size = (size_t)256 * 4;
        t.item.what = TC_KERNEL_BYTES;
        out = run(&t.item);
        for (size_t i = 0; i < 256; i++)
            assert_memory_equal(out + i * 4, t.logical + i * t.n / 256 * 4, 4);
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
        cmocka_unit_test(elements_are_taken_evenly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
