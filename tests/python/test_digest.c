/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_digest.c - digests and magnitudes of memory
 */
#include "unit.h"

#include <math.h>

#include "base/hash.h"
#include "collect/agent/digest.h"

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

/* Traces of different machines are compared. */
static void a_digest_is_the_same_with_wide_registers_and_without(void **state)
{
    static unsigned char data[70001];
    uint64_t seed = 5;

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)unit_random(&seed);
    for (size_t size = 1; size <= sizeof(data); size += size / 3 + 1)
        assert_int_equal(tc_digest(data, size, size), tc_hash64(data, size, size));
}

static void a_sampled_digest_sees_a_change_between_the_stripes(void **state)
{
    size_t size = (size_t)4 << 20;
    unsigned char *data = calloc(1, size);
    uint64_t whole;

    (void)state;
    assert_non_null(data);
    whole = tc_digest_sampled(data, size, 7);
    for (size_t i = 0; i < size; i += 99991) {
        data[i] = 1;
        assert_int_not_equal(whole, tc_digest_sampled(data, size, 7));
        data[i] = 0;
    }
    free(data);
}

/* One element of 1, 2, 4, 8 or 16 bytes, anywhere in memory of any size. */
static void any_changed_element_changes_both_digests(void **state)
{
    static const size_t sizes[] = {16, 4096, 65536, 65552, 1048592, (size_t)64 << 20};
    uint64_t seed = 2463534242u;

    (void)state;
    for (size_t s = 0; s < N_OF(sizes); s++) {
        unsigned char *data = malloc(sizes[s]);
        uint64_t whole, sampled;

        assert_non_null(data);
        for (size_t i = 0; i < sizes[s]; i++)
            data[i] = (unsigned char)(i * 2654435761u >> 24);
        whole = tc_digest(data, sizes[s], 3);
        sampled = tc_digest_sampled(data, sizes[s], 3);
        for (size_t width = 1; width <= 16; width *= 2) {
            size_t n = sizes[s] / width;
            size_t at[] = {0, n - 1, unit_random(&seed) % n, unit_random(&seed) % n};

            for (size_t k = 0; k < N_OF(at); k++) {
                unsigned char *element = data + at[k] * width;

                for (size_t b = 0; b < width; b++)
                    element[b] ^= 0xa5;
                assert_int_not_equal(whole, tc_digest(data, sizes[s], 3));
                assert_int_not_equal(sampled, tc_digest_sampled(data, sizes[s], 3));
                for (size_t b = 0; b < width; b++)
                    element[b] ^= 0xa5;
            }
        }
        assert_int_equal(whole, tc_digest(data, sizes[s], 3));
        assert_int_equal(sampled, tc_digest_sampled(data, sizes[s], 3));
        free(data);
    }
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
        cmocka_unit_test(a_digest_is_the_same_with_wide_registers_and_without),
        cmocka_unit_test(a_sampled_digest_sees_a_change_between_the_stripes),
        cmocka_unit_test(any_changed_element_changes_both_digests),
        cmocka_unit_test(type_and_shape_seed_the_digest),
        cmocka_unit_test(magnitudes_are_those_of_each_type),
        cmocka_unit_test(nan_and_infinity_are_found_anywhere),
        cmocka_unit_test(gradients_have_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
