/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plan_field.c - arithmetic that verification of plans rests on
 */
#include "unit.h"

#include <math.h>

#include "plan/carry.h"
#include "plan/degree.h"
#include "plan/element.h"
#include "plan/matrix.h"
#include "plan/rules.h"

static tc_el any(uint64_t i)
{
    struct tc_function f = tc_function_make(7, TC_FN_VARIABLE, 0, 0, 0);

    return tc_el_apply(&f, tc_el_int((int64_t)i + 2));
}

/* Also whether it is known as a root. */
static bool is(tc_el a, tc_el b)
{
    return a.re == b.re && a.im == b.im;
}

static void test_laws_hold_at_the_edges(void **state)
{
    const tc_el top = {TC_EL_PRIME - 1, 0}, i_ = {0, 1}, all = {TC_EL_PRIME - 1, TC_EL_PRIME - 1};

    (void)state;
    assert_true(is(tc_el_add(top, TC_EL_ONE), TC_EL_ZERO));
    assert_true(is(tc_el_mul(top, top), TC_EL_ONE));
    assert_true(is(tc_el_mul(i_, i_), top));
    assert_true(is(tc_el_mul(all, all), tc_el_mul(i_, tc_el_int(2)))); /* (-1 - i)^2 */
    assert_true(is(tc_el_neg(TC_EL_ZERO), TC_EL_ZERO));
    assert_int_equal(tc_el_to_int(tc_el_int(-5)), -5);
    for (uint64_t i = 0; i < 100; i++) {
        tc_el a = any(i), b = any(i + 100), c = any(i + 200);
        assert_true(is(tc_el_mul(a, tc_el_add(b, c)), tc_el_add(tc_el_mul(a, b), tc_el_mul(a, c))));
        assert_true(is(tc_el_mul(a, tc_el_mul(b, c)), tc_el_mul(tc_el_mul(a, b), c)));
        assert_true(is(tc_el_mul(a, tc_el_inv(a)), TC_EL_ONE));
        assert_true(is(tc_el_sub(a, a), TC_EL_ZERO));
    }
}

/* Both halves of what is drawn are: else chances would be those of the smaller field. */
static void test_elements_are_drawn_from_the_whole_field(void **state)
{
    uint64_t re = 0, im = 0, both = 0;

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        tc_el a = any(i);
        re |= a.re;
        im |= a.im;
        both |= a.re ^ a.im;
        assert_false(tc_el_is_real(a));
    }
    assert_true(re == TC_EL_PRIME && im == TC_EL_PRIME && both == TC_EL_PRIME);
}

/* DTensor divides the norm of a replicated gradient by the root of the ranks, then squares it. */
static void test_scaled_roots_square_to_what_they_were(void **state)
{
    const double ranks[] = {2, 3, 4, 7, 8};
    struct tc_function f = tc_function_make(7, TC_FN_SQRT, 0, 0, 0);

    (void)state;
    for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
        tc_el x = any(i), part = tc_el_inv(tc_el_number_squared(sqrt(ranks[i])));
        tc_el root = tc_el_scale_root(tc_el_sqrt(&f, x), part);
        assert_true(tc_el_is_root(root) && !tc_el_is_root(x));
        assert_true(is(tc_el_square(root), tc_el_mul(x, tc_el_inv(tc_el_int((int64_t)ranks[i])))));
        assert_false(tc_el_same(root, tc_el_sqrt(&f, x)));
    }
}

/* An operator that is forgotten there would lower the bound that verdicts print. */
static void test_every_rule_has_a_degree(void **state)
{
    const struct tc_rule *rule;

    (void)state;
    for (size_t i = 0; (rule = tc_rule_get(i)); i++)
        if (rule->kind <= TC_RULE_ELEMENTWISE && !tc_degree_form_of(rule))
            fail_msg("%s has no degree", rule->name);
}

/* Sums of products stay exact although every one of them is the largest there is. */
static void test_dot_does_not_overflow(void **state)
{
    struct tc_spread row[100];
    tc_el a[100], sum = TC_EL_ZERO;

    (void)state;
    for (size_t n = 1; n <= 100; n++) {
        a[n - 1] = (tc_el){TC_EL_PRIME - 1 - n % 3, TC_EL_PRIME - 1};
        sum = tc_el_add(sum, tc_el_mul(a[n - 1], a[n - 1]));
        assert_true(is(tc_el_dot(a, 1, a, 1, n), sum));
        assert_true(tc_spread_row(a, 1, n, row));
        assert_true(is(tc_spread_dot(row, row, n), sum));
    }
    a[40] = TC_EL_UNDEF;
    assert_true(is(tc_el_dot(a, 1, a, 1, 100), TC_EL_UNDEF));
    assert_false(tc_spread_row(a, 1, 100, row));
}

/* Each element of the product, with a row of the first and a column of the other that hold no
 * number. */
static void check_product(size_t rows, size_t n, size_t columns, bool is_turned)
{
    struct tc_arena arena = TC_ARENA_INIT;
    struct tc_matrix x = {tc_calloc(rows * n, sizeof(tc_el)), rows, n, n, 1};
    struct tc_matrix y = {tc_calloc(n * columns, sizeof(tc_el)), n, columns, columns, 1};
    tc_el *a = (tc_el *)(uintptr_t)x.p, *b = (tc_el *)(uintptr_t)y.p,
          *to = tc_calloc(rows * columns, sizeof(tc_el));

    if (is_turned)
        y.row = 1, y.column = n;
    for (size_t i = 0; i < rows * n; i++)
        a[i] = i % 3 ? any(i) : (tc_el){TC_EL_PRIME - 1, TC_EL_PRIME - 1 - i % 2};
    for (size_t i = 0; i < n * columns; i++)
        b[i] = i % 3 ? any(i + 100) : (tc_el){TC_EL_PRIME - 1 - i % 2, TC_EL_PRIME - 1};
    a[rows / 2 * n + n / 2] = TC_EL_UNDEF;
    b[n / 2 * y.row + columns / 2 * y.column] = TC_EL_PLUS;
    tc_matrix_multiply(x, y, to, &arena);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            tc_el sum = TC_EL_ZERO;
            for (size_t k = 0; k < n; k++)
                sum = tc_el_add(sum, tc_el_mul(a[i * n + k], b[k * y.row + j * y.column]));
            assert_true(is(to[i * columns + j], sum));
            assert_int_equal(tc_el_is_undefined(sum), i == rows / 2);
        }
    tc_arena_release(&arena);
    tc_free(a);
    tc_free(b);
    tc_free(to);
}

/* Fewer and more columns than the processor takes at once, one row and several, and rows that are
 * longer than a sum may be. */
static void test_matrices_are_multiplied(void **state)
{
    static const size_t sizes[][3] = {
        {5,  7,    3 },
        {1,  1,    1 },
        {2,  5,    8 },
        {3,  24,   40},
        {5,  3,    17},
        {19, 6,    1 },
        {12, 4,    7 },
        {1,  1023, 9 },
        {3,  2100, 11},
        {9,  1,    8 }
    };

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        check_product(sizes[i][0], sizes[i][1], sizes[i][2], false);
        check_product(sizes[i][0], sizes[i][1], sizes[i][2], true);
    }
}

static void test_many_inverses_are_those_of_each(void **state)
{
    tc_el a[50], b[50];

    (void)state;
    for (size_t i = 0; i < 50; i++)
        a[i] = b[i] = i == 7 ? TC_EL_ZERO : any(i);
    tc_el_invert(a, 50);
    for (size_t i = 0; i < 50; i++)
        assert_true(is(a[i], tc_el_inv(b[i])));
}

/* The norm of norms is the norm: but a root is no number to calculate with. */
static void test_square_of_root(void **state)
{
    struct tc_function f = tc_function_make(1, TC_FN_SQRT, 0, 0, 0);

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        tc_el x = any(i), root = tc_el_sqrt(&f, x);
        assert_true(is(tc_el_square(root), x));
        assert_true(is(tc_el_mul(root, root), x));
        tc_el sum = tc_el_add(root, TC_EL_ZERO);
        assert_true(is(sum, tc_el_plain(root)));
        assert_false(tc_el_same(tc_el_mul(sum, sum), x));
    }
}

static void test_numbers_are_ratios(void **state)
{
    (void)state;
    assert_true(is(tc_el_add(tc_el_number(0.1, false), tc_el_number(0.2, false)),
                   tc_el_number(0.3, false)));
    assert_true(is(tc_el_mul(tc_el_number(1.0 / 12, false), tc_el_int(12)), TC_EL_ONE));
    assert_true(is(tc_el_mul(tc_el_number((float)0.1, true), tc_el_int(10)), TC_EL_ONE));
    assert_true(is(tc_el_square(tc_el_number(1 / sqrt(2), false)), tc_el_inv(tc_el_int(2))));
    assert_false(is(tc_el_number(3.14159265, false), tc_el_number(3.14159266, false)));
}

/* The doubles 6^-0.5 and 1 / sqrt(6) differ in their last bit. */
static void test_roots_of_ratios_are_numbers(void **state)
{
    struct tc_function f = tc_function_make(1, TC_FN_SQRT, 0, 0, 0);

    (void)state;
    for (int n = 2; n < 300; n++) {
        tc_el root = tc_el_number(sqrt(n), false);
        assert_true(is(tc_el_mul(root, root), tc_el_int(n)));
        assert_true(is(root, tc_el_plain(tc_el_sqrt(&f, tc_el_int(n)))));
        assert_true(is(tc_el_number(pow(n, -0.5), false), tc_el_inv(root)));
        assert_true(is(tc_el_number(1 / sqrt(n), false), tc_el_inv(root)));
        assert_true(is(tc_el_number(-sqrt(n), false), tc_el_neg(root)));
        for (int m = 2; m < 20; m++)
            assert_true(is(tc_el_mul(root, tc_el_number(sqrt(m), false)),
                           tc_el_number(sqrt(n * m), false)));
    }
    assert_true(is(tc_el_sqrt(&f, tc_el_number(9.0 / 16, false)), tc_el_number(0.75, false)));
    assert_true(is(tc_el_number(M_PI, false), tc_el_number(nextafter(M_PI, 4), false)));
    assert_false(is(tc_el_number(M_PI, false), tc_el_number(M_PI * (1 + 1e-12), false)));
    assert_false(is(tc_el_number(sqrt(6), false), tc_el_number(sqrt(7), false)));
}

static void test_masks(void **state)
{
    struct tc_function f = tc_function_make(1, TC_FN_EXP, 0, 0, 0);

    (void)state;
    assert_true(is(tc_el_apply(&f, tc_el_add(any(1), TC_EL_MINUS)), TC_EL_ZERO));
    assert_true(is(tc_el_add(TC_EL_MINUS, TC_EL_PLUS), TC_EL_UNDEF));
    assert_true(is(tc_el_mul(TC_EL_MINUS, TC_EL_ZERO), TC_EL_UNDEF));
    assert_true(is(tc_el_mul(TC_EL_MINUS, tc_el_int(-1)), TC_EL_PLUS));
    assert_true(tc_el_compare(TC_EL_MINUS, any(1)) < 0);
}

static void test_functions_differ_by_attributes_and_seed(void **state)
{
    struct tc_function a = tc_function_make(1, TC_FN_GELU, 0, 0, 0);
    struct tc_function b = tc_function_make(1, TC_FN_GELU, 1, 0, 0);
    struct tc_function c = tc_function_make(2, TC_FN_GELU, 0, 0, 0);

    (void)state;
    tc_el five = tc_el_int(5);
    assert_true(is(tc_el_apply(&a, five), tc_el_apply(&a, five)));
    assert_false(is(tc_el_apply(&a, five), tc_el_apply(&b, five)));
    assert_false(is(tc_el_apply(&a, five), tc_el_apply(&c, five)));
    assert_false(is(tc_el_apply(&a, five), tc_el_apply(&a, (tc_el){5, 1})));
    assert_false(is(tc_el_apply2(&a, five, any(1)), tc_el_apply2(&a, any(1), five)));
}

/* ---- doubles ------------------------------------------------------------------------------- */

static void check_number(double x)
{
    double back = tc_el_to_double(tc_el_number(x, false));

    assert_true(fabs(back - x) <= 4e-13 * fabs(x));
}

/* Those of a plan are read as elements of the field. */
static void test_numbers_are_doubles_again(void **state)
{
    const double some[] = {0,          1,    -7,        1.0 / 3,    -2.0 / 7, 0.1,         1e-8,
                           3.14159265, M_PI, 1e300,     -1e-300,    sqrt(2),  1 / sqrt(6), 0.999,
                           1 - 1e-9,   1e15, 12345.678, 0x1p40 + 1, -sqrt(3)};

    (void)state;
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
        check_number(some[i]);
    for (int n = 1; n < 3000; n++) {
        check_number(n / 1000.0);
        check_number(-sin(n));
        check_number(exp(n % 200 - 100.0));
        double part = tc_el_to_double(tc_el_mul(tc_el_int(n), tc_el_inv(tc_el_int(7))));
        assert_true(fabs(part - n / 7.0) <= 1e-15 * part);
    }
    assert_true(isnan(tc_el_to_double(TC_EL_UNDEF)));
    assert_true(isinf(tc_el_to_double(TC_EL_MINUS)));
}

/* An element and the double that it is, by the rules of the field and by those of C. */
struct beside {
    tc_el el;
    double x;
};

static struct beside step_beside(struct beside a, struct beside b, unsigned how)
{
    const struct tc_function sigmoid = tc_function_make(1, TC_FN_SIGMOID, 0, 0, 0);
    const struct tc_function f = tc_function_make(1, TC_FN_EXP, 0, 0, 0);

    switch (how) {
    case 0:
        return (struct beside){tc_el_add(a.el, b.el), a.x + b.x};
    case 1:
        return (struct beside){tc_el_sub(a.el, b.el), a.x - b.x};
    case 2:
        return (struct beside){tc_el_mul(a.el, b.el), a.x * b.x};
    case 3:
        return (struct beside){tc_el_mul(a.el, tc_el_inv(b.el)), a.x * (1 / b.x)};
    case 4:
        return (struct beside){tc_el_apply(&sigmoid, a.el), 1 / (1 + exp(-a.x))};
    case 5:
        return (struct beside){tc_el_apply(&f, a.el), exp(a.x)};
    case 6:
        return (struct beside){tc_el_sqrt(&f, a.el), sqrt(a.x)};
    default:
        return tc_el_compare(a.el, b.el) > 0 ? a : b;
    }
}

static void test_doubles_are_those_of_c(void **state)
{
    struct tc_laws *laws = tc_laws_new_doubles(TC_LAWS_DOUBLES, 1);
    struct beside pool[64];
    uint64_t drawn = 1;

    (void)state;
    tc_laws_enter(laws);
    for (unsigned seed = 0; seed < 20000; seed++) {
        for (unsigned i = 0; i < 64; i++) {
            drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            unsigned a = drawn >> 33 & 7, b = drawn >> 37 & 7, how = drawn >> 41 & 7;
            if (i < 8)
                pool[i] = (struct beside){any(seed + i), tc_el_to_double(any(seed + i))};
            else
                pool[i] = step_beside(pool[i - 1 - a], pool[i - 1 - b], how);
            double x = tc_el_to_double(pool[i].el);
            if (!(fabs(pool[i].x) < 1e100) || fabs(pool[i].x) < 1e-100) /* or not a number */
                pool[i] = (struct beside){tc_el_int(3), 3};
            else
                assert_true(fabs(x - pool[i].x) <= 1e-15 * fabs(x));
        }
    }
    tc_laws_enter(NULL);
    tc_laws_free(laws);
    assert_false(tc_el_is_double(any(1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_doubles_again),
        cmocka_unit_test(test_doubles_are_those_of_c),
        cmocka_unit_test(test_laws_hold_at_the_edges),
        cmocka_unit_test(test_elements_are_drawn_from_the_whole_field),
        cmocka_unit_test(test_scaled_roots_square_to_what_they_were),
        cmocka_unit_test(test_every_rule_has_a_degree),
        cmocka_unit_test(test_dot_does_not_overflow),
        cmocka_unit_test(test_matrices_are_multiplied),
        cmocka_unit_test(test_many_inverses_are_those_of_each),
        cmocka_unit_test(test_square_of_root),
        cmocka_unit_test(test_numbers_are_ratios),
        cmocka_unit_test(test_roots_of_ratios_are_numbers),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_functions_differ_by_attributes_and_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
