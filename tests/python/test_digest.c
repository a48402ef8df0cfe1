/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_digest.c - digests and magnitudes of memory
 */
#include "unit.h"

#include <math.h>

#include "collect/agent/look/digest.h"
#include "collect/agent/look/lanes.h"
#include "collect/agent/look/wide.h"

static void any_changed_byte_changes_the_digest(void **state)
{
    unsigned char data[257];
    uint64_t seed = 88172645463325252u, whole;

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)unit_random(&seed);
    whole = tc_digest(data, sizeof(data), 1);
    assert_int_equal(whole, tc_digest(data, sizeof(data), 1));
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] ^= 1;
        assert_int_not_equal(whole, tc_digest(data, sizeof(data), 1));
        data[i] ^= 1;
    }
}

static void fill(unsigned char *data, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)unit_random(&seed);
}

/* As docs/trace-format.md has it, word by word. */
static uint64_t sum_as_documented(const unsigned char *data, size_t size)
{
    uint64_t sum = 0;

    for (size_t chunk = 0; chunk * TC_CHUNK_SIZE < size; chunk++) {
        uint64_t lanes[TC_LANES] = {0};

        for (size_t i = 0; i < TC_LANES * TC_STRIPES; i++) {
            const uint64_t key = tc_lanes_mix((i + 1) * UINT64_C(0x9e3779b97f4a7c15));
            uint64_t word = 0;

            for (size_t k = 0; k < 8; k++) {
                size_t at = chunk * TC_CHUNK_SIZE + 8 * i + k;
                word |= at < size ? (uint64_t)data[at] << 8 * k : 0;
            }
            lanes[i % 8] += ((word ^ key) & UINT32_MAX) * ((word ^ key) >> 32);
            lanes[(i % 8) ^ 1] += word;
        }
        for (size_t l = 0; l < TC_LANES; l++)
            sum += tc_lanes_mix(lanes[l] + (8 * chunk + l + 1) * UINT64_C(0x9e3779b97f4a7c15));
    }
    return sum;
}

static void the_sum_is_the_documented_one(void **state)
{
    static unsigned char data[70001];
    const size_t n = sizeof(data);
    uint64_t seed = 6;

    (void)state;
    fill(data, n, 5);
    for (size_t i = 0; i < 400; i++) {
        size_t at = i < 300 ? 0 : unit_random(&seed) % 9; /* also where nothing is aligned */
        size_t size = i < 300 ? i : unit_random(&seed) % (n - 9);

        assert_int_equal(tc_lanes_sum(data + at, size), sum_as_documented(data + at, size));
    }
    assert_int_equal(tc_digest(data, n, 9),
                     tc_lanes_mix(tc_lanes_sum(data, n) +
                                  tc_lanes_mix(9 + (n + 1) * UINT64_C(0x9e3779b97f4a7c15))));
}

static void the_digest_of_zeros_needs_no_memory(void **state)
{
    static const unsigned char zeros[3 * TC_CHUNK_SIZE];
    static const size_t sizes[] = {
        0, 1, 7, 64, TC_CHUNK_SIZE - 1, TC_CHUNK_SIZE, TC_CHUNK_SIZE + 1, sizeof(zeros)};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const int64_t shape[] = {(int64_t)sizes[i] / 4, 4};
        const uint64_t seed = tc_digest_seed("bfloat16", shape, 2);

        assert_int_equal(seed, tc_nh64_seed("bfloat16", 8, shape, 2));
        assert_int_equal(tc_digest(zeros, sizes[i], seed), tc_nh64_of_zeros(sizes[i], seed));
    }
}

/* Traces of different machines are compared. */
static void stripes_are_the_same_with_wide_registers_and_without(void **state)
{
    unsigned char data[TC_CHUNK_SIZE + 1];
    uint64_t keys[TC_LANES * TC_STRIPES];

    (void)state;
    if (!tc_has_wide_registers())
        print_message("this processor has no wide registers: compared with nothing\n");
    fill(data, sizeof(data), 7);
    for (size_t i = 0; i < N_OF(keys); i++)
        keys[i] = tc_lanes_key(i);
    for (size_t n = 0; n <= TC_STRIPES && tc_has_wide_registers(); n++) {
        struct tc_lanes a =
                            {
                                {1, 2},
                                {3}
        },
                        b = a;

        tc_lanes_add(&a, data + n % 2, n, keys);
        tc_lanes_add_wide(&b, data + n % 2, n, keys);
        assert_memory_equal(&a, &b, sizeof(a));
    }
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void assert_all_different(uint64_t *digests, size_t n)
{
    qsort(digests, n, sizeof(*digests), by_number);
    for (size_t i = 1; i < n; i++)
        assert_int_not_equal(digests[i - 1], digests[i]);
}

#define N_WORDS 600 /* more than a chunk has */

/* What a word may be: bits at random, and what tensors are full of. */
static void fill_words(uint64_t *words, unsigned kind)
{
    uint64_t seed = 11 + kind;

    for (size_t i = 0; i < N_WORDS; i++) {
        const uint64_t kinds[] = {unit_random(&seed), 0, UINT64_MAX, UINT64_C(0x3f8000003f800000),
                                  i};
        words[i] = kinds[kind];
    }
}

static void each_bit_changes_half_of_the_digest_and_no_two_the_same(void **state)
{
    static uint64_t words[N_WORDS], digests[N_WORDS * 64];

    (void)state;
    for (unsigned kind = 0; kind < 5; kind++) {
        uint64_t whole, n_flipped = 0, of_bit[64] = {0};

        fill_words(words, kind);
        whole = tc_digest(words, sizeof(words), 1);
        for (size_t i = 0; i < N_OF(digests); i++) {
            words[i / 64] ^= UINT64_C(1) << i % 64;
            digests[i] = tc_digest(words, sizeof(words), 1);
            n_flipped += (uint64_t)__builtin_popcountll(digests[i] ^ whole);
            for (unsigned bit = 0; bit < 64; bit++)
                of_bit[bit] += (digests[i] ^ whole) >> bit & 1;
            words[i / 64] ^= UINT64_C(1) << i % 64;
        }
        assert_in_range(n_flipped * 100 / N_OF(digests), 3180, 3220);
        for (unsigned bit = 0; bit < 64; bit++) /* five deviations of chance */
            assert_in_range(of_bit[bit] * 1000 / N_OF(digests), 487, 513);
        assert_all_different(digests, N_OF(digests));
    }
}

/* Two words of sampled data that change at once: exchanged, both negated, one up and one down. */
static void no_two_changes_of_two_words_are_the_same(void **state)
{
    enum {
        N_PAIRS = N_WORDS * (N_WORDS - 1) / 2
    };
    static uint64_t words[N_WORDS], digests[N_PAIRS];

    (void)state;
    for (unsigned change = 0; change < 3; change++) {
        size_t n = 0;

        fill_words(words, 0);
        for (size_t i = 0; i < N_WORDS; i++)
            for (size_t k = i + 1; k < N_WORDS; k++) {
                const uint64_t a = words[i], b = words[k], sign = UINT64_C(1) << 63;

                words[i] = change == 0 ? b : change == 1 ? a ^ sign : a + 1;
                words[k] = change == 0 ? a : change == 1 ? b ^ sign : b - 1;
                digests[n++] = tc_digest(words, sizeof(words), 1);
                words[i] = a;
                words[k] = b;
            }
        assert_all_different(digests, n);
    }
}

/* One element of 1, 2, 4, 8 or 16 bytes, anywhere in memory of any size. */
static void any_changed_element_changes_the_digest(void **state)
{
    static const size_t sizes[] = {16, 4096, 65536, 65552, 1048592, (size_t)64 << 20};
    uint64_t seed = 2463534242u;

    (void)state;
    for (size_t s = 0; s < N_OF(sizes); s++) {
        unsigned char *data = malloc(sizes[s]);
        uint64_t whole;

        assert_non_null(data);
        for (size_t i = 0; i < sizes[s]; i++)
            data[i] = (unsigned char)(i * 2654435761u >> 24);
        whole = tc_digest(data, sizes[s], 3);
        for (size_t width = 1; width <= 16; width *= 2) {
            size_t n = sizes[s] / width;
            size_t at[] = {0, n - 1, unit_random(&seed) % n, unit_random(&seed) % n};

            for (size_t k = 0; k < N_OF(at); k++) {
                unsigned char *element = data + at[k] * width;

                for (size_t b = 0; b < width; b++)
                    element[b] ^= 0xa5;
                assert_int_not_equal(whole, tc_digest(data, sizes[s], 3));
                for (size_t b = 0; b < width; b++)
                    element[b] ^= 0xa5;
            }
        }
        assert_int_equal(whole, tc_digest(data, sizes[s], 3));
        free(data);
    }
}

static void stripes_see_what_writes_to_all_of_the_data(void **state)
{
    static unsigned char data[1 << 20];
    uint64_t whole = tc_digest_stripes(data, sizeof(data), 7);

    (void)state;
    for (size_t i = 0; i <= TC_N_STRIPES; i++) {
        unsigned char *at = data + tc_digest_stripe_at(sizeof(data), i);

        assert_true(at + TC_STRIPE_SIZE <= data + sizeof(data));
        *at = 1;
        assert_int_not_equal(whole, tc_digest_stripes(data, sizeof(data), 7));
        *at = 0;
    }
    assert_int_equal(tc_digest_stripes(data, 4096, 7), tc_digest(data, 4096, 7));
}

static void type_and_shape_seed_the_digest(void **state)
{
    int64_t a[] = {2, 3}, b[] = {3, 2};

    (void)state;
    assert_int_not_equal(tc_digest_seed("float32", a, 2), tc_digest_seed("float32", b, 2));
    assert_int_not_equal(tc_digest_seed("float32", a, 2), tc_digest_seed("int32", a, 2));
    assert_int_equal(tc_digest_seed("float32", a, 2), tc_digest_seed("float32", a, 2));
}

static void magnitudes_are_those_of_each_type(void **state)
{
    float f32[] = {0.5F, -3.25F, 1.0F};
    double f64[] = {0.5, -3.25, 1.0};
    uint16_t f16[] = {0x3800, 0xc280, 0x3c00};  /* 0.5 -3.25 1 */
    uint16_t bf16[] = {0x3f00, 0xc050, 0x3f80}; /* the same */

    (void)state;
    assert_true(tc_max_abs(f32, 3, TC_NUMBER_F32) == 3.25);
    assert_true(tc_max_abs(f64, 3, TC_NUMBER_F64) == 3.25);
    assert_true(tc_max_abs(f16, 3, TC_NUMBER_F16) == 3.25);
    assert_true(tc_max_abs(bf16, 3, TC_NUMBER_BF16) == 3.25);
    assert_true(tc_max_abs(f32, 0, TC_NUMBER_F32) == 0);
}

static void nan_and_infinity_are_found_anywhere(void **state)
{
    float values[100] = {0};

    (void)state;
    for (size_t i = 0; i < N_OF(values); i++) {
        values[i] = i % 2 ? NAN : -INFINITY;
        assert_true(isinf(tc_max_abs(values, N_OF(values), TC_NUMBER_F32)));
        values[i] = 0;
    }
}

static void gradients_have_classes(void **state)
{
    (void)state;
    assert_int_equal(tc_grad_classify(0, 1), TC_GRAD_ZERO);
    assert_int_equal(tc_grad_classify(1e-7, 1), TC_GRAD_TINY);
    assert_int_equal(tc_grad_classify(1e-5, 1), TC_GRAD_NON_ZERO);
    assert_int_equal(tc_grad_classify((double)INFINITY, 1), TC_GRAD_NAN_OR_INF);
    assert_string_equal(tc_grad_class_name(TC_GRAD_NULL), "null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_changed_byte_changes_the_digest),
        cmocka_unit_test(the_sum_is_the_documented_one),
        cmocka_unit_test(the_digest_of_zeros_needs_no_memory),
        cmocka_unit_test(stripes_are_the_same_with_wide_registers_and_without),
        cmocka_unit_test(each_bit_changes_half_of_the_digest_and_no_two_the_same),
        cmocka_unit_test(no_two_changes_of_two_words_are_the_same),
        cmocka_unit_test(any_changed_element_changes_the_digest),
        cmocka_unit_test(stripes_see_what_writes_to_all_of_the_data),
        cmocka_unit_test(type_and_shape_seed_the_digest),
        cmocka_unit_test(magnitudes_are_those_of_each_type),
        cmocka_unit_test(nan_and_infinity_are_found_anywhere),
        cmocka_unit_test(gradients_have_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
