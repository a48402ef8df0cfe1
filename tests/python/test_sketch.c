/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sketch.c - the sums are those of docs/trace-format.md, and tell how far apart tensors are
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nh64.h"
#include "collect/agent/look/sketch.h"
#include "collect/agent/look/summary.h"

#define N 1000

static const size_t sizes[] = {
    [TC_NUMBER_F16] = 2, [TC_NUMBER_BF16] = 2, [TC_NUMBER_F32] = 4, [TC_NUMBER_F64] = 8};

/* By the documentation, one element after the other. */
static struct tc_sketch documented(const unsigned char *data, size_t n, uint64_t begin,
                                   enum tc_number kind)
{
    struct tc_sketch s = {0};
    double squares = 0;

    for (uint64_t i = 0; i < n; i++) {
        const double x = tc_float_at(data + i * sizes[kind], kind);
        squares += x * x;
        for (uint64_t k = 0; k < 4; k++) {
            const uint64_t at = begin + i;
            const uint64_t word = tc_lanes_mix((at / 64 * 4 + k + 1) * TC_LANES_GOLDEN);
            s.sums[k] += word >> at % 64 & 1 ? -x : x;
        }
    }
    s.norm = sqrt(squares);
    return s;
}

/* Finite numbers of all exponents that are no farther from 1 than 2^4, zeros and small ones. */
static void fill(unsigned char *data, size_t n, enum tc_number kind)
{
    for (size_t i = 0; i < n; i++) {
        const double x = ldexp(rand() % 2048 - 1024, rand() % 5 - 10);
        const float single = (float)x;
        uint32_t bits;
        memcpy(&bits, &single, sizeof(bits));
        const uint16_t upper = (uint16_t)(bits >> 16);
        const uint16_t half = (uint16_t)((rand() % 0x4c00) | (rand() % 2 << 15));
        const void *from = kind == TC_NUMBER_F64    ? (const void *)&x
                           : kind == TC_NUMBER_F32  ? (const void *)&single
                           : kind == TC_NUMBER_BF16 ? (const void *)&upper
                                                    : (const void *)&half;
        memcpy(data + i * sizes[kind], from, sizes[kind]);
    }
}

static void it_is_the_documented_sum(void **state)
{
    static unsigned char data[N * 8];

    (void)state;
    for (int kind = TC_NUMBER_F16; kind <= TC_NUMBER_F64; kind++)
        for (size_t n = 1; n < N; n = n < 200 ? n + 1 : n + 97) {
            struct tc_sketch s, expected;
            fill(data, n, (enum tc_number)kind);
            expected = documented(data, n, n % 131, (enum tc_number)kind);
            assert_true(tc_sketch_take(data, n, n % 131, (enum tc_number)kind, &s));
            assert_true(fabs(s.norm - expected.norm) <= 1e-12 * (expected.norm + 1e-30));
            for (size_t k = 0; k < 4; k++)
                assert_true(fabs(s.sums[k] - expected.sums[k]) <= 1e-11 * (expected.norm + 1e-30));
        }
}

static void sums_of_parts_add_up(void **state)
{
    static unsigned char data[N * 8];
    struct tc_sketch whole, part;

    (void)state;
    fill(data, N, TC_NUMBER_F64);
    assert_true(tc_sketch_take(data, N, 0, TC_NUMBER_F64, &whole));
    for (size_t size = 1; size < N; size += 37) {
        double squares = 0, sums[TC_N_SKETCHED] = {0};
        for (size_t begin = 0; begin < N; begin += size) {
            const size_t n = N - begin < size ? N - begin : size;
            assert_true(tc_sketch_take(data + begin * 8, n, begin, TC_NUMBER_F64, &part));
            squares += part.norm * part.norm;
            for (size_t k = 0; k < TC_N_SKETCHED; k++)
                sums[k] += part.sums[k];
        }
        assert_true(fabs(sqrt(squares) - whole.norm) <= 1e-12 * whole.norm);
        for (size_t k = 0; k < TC_N_SKETCHED; k++)
            assert_true(fabs(sums[k] - whole.sums[k]) <= 1e-11 * whole.norm);
    }
}

static void what_is_not_finite_has_none(void **state)
{
    static const uint16_t halves[] = {0x7c00, 0xfc00, 0x7e00, 0x7c01}, /* of both formats */
        uppers[] = {0x7f80, 0xff80, 0x7fc0, 0x7f81};
    static const double doubles[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, 1e200};
    struct tc_sketch s;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        float single[70] = {0};
        uint16_t half[70] = {0}, upper[70] = {0};
        double number[70] = {0};
        single[i * 23] = (float)doubles[i];
        half[i * 23] = halves[i];
        upper[i * 23] = uppers[i];
        number[i * 23] = doubles[i];
        assert_false(tc_sketch_take(single, 70, 0, TC_NUMBER_F32, &s));
        assert_false(tc_sketch_take(half, 70, 0, TC_NUMBER_F16, &s));
        assert_false(tc_sketch_take(upper, 70, 0, TC_NUMBER_BF16, &s));
        assert_false(tc_sketch_take(number, 70, 0, TC_NUMBER_F64, &s));
    }
    assert_false(tc_sketch_take(doubles, 3, 0, TC_NUMBER_OTHER, &s));
}

static double distance(const struct tc_sketch *x, const struct tc_sketch *y)
{
    double squares = 0;

    for (size_t k = 0; k < 4; k++)
        squares += (x->sums[k] - y->sums[k]) * (x->sums[k] - y->sums[k]);
    return sqrt(squares / 4);
}

/* Of 2,000 pairs: the mean of the squared estimates is the squared distance, and few are far off.
 */
static void sketches_tell_the_distance(void **state)
{
    static float x[N], y[N];
    double sum = 0;
    unsigned n_near = 0;

    (void)state;
    srand(1);
    for (int turn = 0; turn < 2000; turn++) {
        struct tc_sketch a, b;
        double squares = 0;
        for (size_t i = 0; i < N; i++) {
            x[i] = (float)(rand() % 1000) / 1000;
            y[i] = x[i] + (float)(rand() % 1000 - 500) * 1e-6F;
            squares += (double)(x[i] - y[i]) * (double)(x[i] - y[i]);
        }
        assert_true(tc_sketch_take(x, N, 0, TC_NUMBER_F32, &a));
        assert_true(tc_sketch_take(y, N, 0, TC_NUMBER_F32, &b));
        const double ratio = distance(&a, &b) / sqrt(squares);
        sum += ratio * ratio;
        n_near += ratio > 1 / 2.5 && ratio < 2;
    }
    assert_true(fabs(sum / 2000 - 1) < 0.06);
    assert_true(n_near > 1850);
}

static void it_is_written_with_nine_digits(void **state)
{
    const struct tc_sketch s = {
        2.0 / 3, {-0.0, 1e-300, -123456789.5, 2}
    };
    struct tc_strbuf out = TC_STRBUF_INIT;

    (void)state;
    tc_sketch_add(&out, &s);
    assert_string_equal(out.text, ",\"sketch\":[0.666666667,0,1e-300,-123456790,2]");
    tc_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_documented_sum),
        cmocka_unit_test(sums_of_parts_add_up),
        cmocka_unit_test(what_is_not_finite_has_none),
        cmocka_unit_test(sketches_tell_the_distance),
        cmocka_unit_test(it_is_written_with_nine_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
