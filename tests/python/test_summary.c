/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_summary.c - what integers are like, and which number a float is
 */
#include "unit.h"

#include <math.h>

#include "base/strbuf.h"
#include "collect/agent/look/summary.h"

static const char *text_of(const void *data, size_t n, size_t n_columns, enum tc_integer kind)
{
    static struct tc_strbuf out = TC_STRBUF_INIT;
    struct tc_summary s;

    tc_summarize(data, n, n_columns, kind, &s);
    tc_strbuf_reset(&out);
    tc_summary_add(&out, &s, kind);
    return out.text;
}

static void integers_of_each_width_are_counted_alike(void **state)
{
    static const int64_t i64[] = {0, 1, -100, 1, 7, -100};
    static const int32_t i32[] = {0, 1, -100, 1, 7, -100};
    static const int16_t i16[] = {0, 1, -100, 1, 7, -100};
    static const int8_t i8[] = {0, 1, -100, 1, 7, -100};
    static const uint8_t u8[] = {200, 0};
    const char *expected =
        "{\"min\":-100,\"max\":7,\"distinct\":4,\"negative\":2,\"zero\":1,\"one\":2,\"last\":-100}";

    (void)state;
    assert_string_equal(text_of(i64, 6, 3, TC_INTEGER_I64), expected);
    assert_string_equal(text_of(i32, 6, 3, TC_INTEGER_I32), expected);
    assert_string_equal(text_of(i16, 6, 3, TC_INTEGER_I16), expected);
    assert_string_equal(text_of(i8, 6, 3, TC_INTEGER_I8), expected);
    assert_string_equal(
        text_of(u8, 2, 0, TC_INTEGER_U8),
        "{\"min\":0,\"max\":200,\"distinct\":2,\"negative\":0,\"zero\":1,\"one\":0}");
}

static void booleans_are_counted_and_their_columns_told(void **state)
{
    static const uint8_t mask[] = {1, 1, 0, 1, 0, 0};

    (void)state;
    assert_string_equal(text_of(mask, 6, 3, TC_INTEGER_BOOL),
                        "{\"true\":3,\"false\":3,\"first\":true,\"last\":false}");
    assert_string_equal(text_of(mask, 6, 0, TC_INTEGER_BOOL), "{\"true\":3,\"false\":3}");
    assert_string_equal(text_of(mask, 1, 1, TC_INTEGER_BOOL),
                        "{\"true\":1,\"false\":0,\"first\":true,\"last\":true}");
}

/* The ends of the type, where differences would not fit it. */
static void a_wide_range_is_not_counted(void **state)
{
    static const int64_t wide[] = {INT64_MIN, INT64_MAX, 0};
    int64_t edge[] = {5, 5 + (1 << 20) - 1};

    (void)state;
    assert_null(strstr(text_of(wide, 3, 0, TC_INTEGER_I64), "distinct"));
    assert_non_null(strstr(text_of(edge, 2, 0, TC_INTEGER_I64), "\"distinct\":2"));
    edge[1]++;
    assert_null(strstr(text_of(edge, 2, 0, TC_INTEGER_I64), "distinct"));
}

static void many_are_counted_as_one_by_one(void **state)
{
    static int64_t data[65536];
    static bool is_met[1000];
    uint64_t seed = 11;
    size_t n_zero = 0, n_distinct = 0;
    struct tc_summary s;

    (void)state;
    for (size_t i = 0; i < 65536; i++) {
        data[i] = (int64_t)(unit_random(&seed) % 1000) - 500;
        n_zero += data[i] == 0;
        n_distinct += !is_met[data[i] + 500];
        is_met[data[i] + 500] = true;
    }
    tc_summarize(data, 65536, 0, TC_INTEGER_I64, &s);
    assert_int_equal(s.n_zero, n_zero);
    assert_int_equal(s.n_distinct, n_distinct);
}

static void floats_of_each_width_are_read(void **state)
{
    static const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x8000};
    static const double expected[] = {1, -2, 0x1p-24, (double)INFINITY, -0.0};
    const uint16_t nan_of_half = 0x7e00, bf16 = 0xbfc0;
    const float single = 0.1f;
    const double whole = 0.1;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        assert_true(tc_float_at(&halves[i], TC_NUMBER_F16) == expected[i]);
    assert_true(isnan(tc_float_at(&nan_of_half, TC_NUMBER_F16)));
    assert_true(tc_float_at(&bf16, TC_NUMBER_BF16) == -1.5);
    assert_true(tc_float_at(&single, TC_NUMBER_F32) == (double)single);
    assert_true(tc_float_at(&whole, TC_NUMBER_F64) == whole);
}

static void a_constant_has_no_other_element(void **state)
{
    float data[] = {2, 2, 2, 3};

    (void)state;
    assert_true(tc_is_constant(data, 3, sizeof(float)));
    assert_true(tc_is_constant(data, 1, sizeof(float)));
    assert_false(tc_is_constant(data, 4, sizeof(float)));
}

static void a_scale_leaves_out_what_is_not_finite(void **state)
{
    const float data[] = {3, (float)NAN, -4, (float)INFINITY};
    static double many[1000];
    struct tc_scale s;

    (void)state;
    tc_scale(data, 4, sizeof(float), TC_NUMBER_F32, &s);
    assert_int_equal(s.n, 2);
    assert_true(s.min == -4 && s.max == 3 && fabs(s.rms - sqrt(12.5)) < 1e-12);
    tc_scale(&data[1], 1, sizeof(float), TC_NUMBER_F32, &s);
    assert_int_equal(s.n, 0);
    for (size_t i = 0; i < 1000; i++)
        many[i] = i < 500 ? 1 : 7; /* both halves are read */
    tc_scale(many, 1000, sizeof(double), TC_NUMBER_F64, &s);
    assert_true(s.n == 256 && s.min == 1 && s.max == 7 && fabs(s.rms - 5) < 1e-12);
}

/* Pictures of 8 by 8 with an empty border: a regular distance would meet one column alone. */
static void a_scale_reads_all_columns(void **state)
{
    enum {
        N_COLUMNS = 64,
        N_ROWS = 512
    };
    static unsigned n_read[N_COLUMNS];

    (void)state;
    for (size_t n_rows = 4; n_rows <= N_ROWS; n_rows *= 2) {
        size_t last = 0;
        memset(n_read, 0, sizeof(n_read));
        for (size_t i = 0; i < TC_N_SCALED; i++) {
            const size_t at = tc_scaled_at(n_rows * N_COLUMNS, i);
            assert_true(at < n_rows * N_COLUMNS && (!i || at > last));
            last = at;
            n_read[at % N_COLUMNS]++;
        }
        for (size_t i = 0; i < N_COLUMNS; i++)
            assert_in_range(n_read[i], 1, 16);
    }
}

static void a_range_has_the_bounds_and_signs_of_what_is_finite(void **state)
{
    const float single[] = {3, (float)NAN, -4, (float)INFINITY, -0.0F, 0, 7};
    const double twice[] = {-1e-300, 1e300, -(double)INFINITY};
    const uint16_t half[] = {0xc000, 0x3c00, 0x7c00, 0x8000}; /* -2, 1, infinity, -0 */
    const uint16_t bf16[] = {0xbfc0, 0x7f80, 0x4000};         /* -1.5, infinity, 2 */
    const float none[] = {(float)NAN, (float)INFINITY};
    struct tc_range r;

    (void)state;
    tc_range(single, 7, TC_NUMBER_F32, &r);
    assert_true(r.min == -4 && r.max == 7 && r.n_negative == 1 && r.n_positive == 2 && r.n == 5);
    tc_range(twice, 3, TC_NUMBER_F64, &r);
    assert_true(r.min == -1e-300 && r.max == 1e300 && r.n == 2);
    tc_range(half, 4, TC_NUMBER_F16, &r);
    assert_true(r.min == -2 && r.max == 1 && r.n_negative == 1 && r.n_positive == 1 && r.n == 3);
    tc_range(bf16, 3, TC_NUMBER_BF16, &r);
    assert_true(r.min == -1.5 && r.max == 2 && r.n == 2);
    tc_range(none, 2, TC_NUMBER_F32, &r);
    assert_int_equal(r.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_each_width_are_counted_alike),
        cmocka_unit_test(a_range_has_the_bounds_and_signs_of_what_is_finite),
        cmocka_unit_test(booleans_are_counted_and_their_columns_told),
        cmocka_unit_test(a_wide_range_is_not_counted),
        cmocka_unit_test(many_are_counted_as_one_by_one),
        cmocka_unit_test(floats_of_each_width_are_read),
        cmocka_unit_test(a_constant_has_no_other_element),
        cmocka_unit_test(a_scale_leaves_out_what_is_not_finite),
        cmocka_unit_test(a_scale_reads_all_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
