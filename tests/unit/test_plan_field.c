/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plan_field.c - arithmetic that verification of plans rests on
 */
#include "unit.h"

#include <math.h>

#include "plan/degree.h"
#include "plan/element.h"
#include "plan/rules.h"

static tc_el any(uint64_t i)
{
    struct tc_function f = tc_function_make(7, TC_FN_VARIABLE, 0, 0, 0);

    return tc_el_apply(&f, tc_el_int((int64_t)i + 2));
}

static void test_laws_hold_at_the_edges(void **state)
{
    const tc_el top = TC_EL_PRIME - 1;

    (void)state;
    assert_true(tc_el_add(top, 1) == 0);
    assert_true(tc_el_mul(top, top) == 1);
    assert_true(tc_el_neg(0) == 0);
    assert_int_equal(tc_el_to_int(tc_el_int(-5)), -5);
    for (uint64_t i = 0; i < 100; i++) {
        tc_el a = any(i), b = any(i + 100), c = any(i + 200);
        assert_true(tc_el_mul(a, tc_el_add(b, c)) == tc_el_add(tc_el_mul(a, b), tc_el_mul(a, c)));
        assert_true(tc_el_mul(a, tc_el_inv(a)) == 1);
    }
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
        assert_true(tc_el_square(root) == tc_el_mul(x, tc_el_inv(tc_el_int((int64_t)ranks[i]))));
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
    tc_el a[100], sum = 0;

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        a[i] = TC_EL_PRIME - 1 - i;
        sum = tc_el_add(sum, tc_el_mul(a[i], a[i]));
    }
    assert_true(tc_el_dot(a, 1, a, 1, 100) == sum);
    a[40] = TC_EL_UNDEF;
    assert_true(tc_el_dot(a, 1, a, 1, 100) == TC_EL_UNDEF);
}

static void test_many_inverses_are_those_of_each(void **state)
{
    tc_el a[50], b[50];

    (void)state;
    for (size_t i = 0; i < 50; i++)
        a[i] = b[i] = i == 7 ? 0 : any(i);
    tc_el_invert(a, 50);
    for (size_t i = 0; i < 50; i++)
        assert_true(a[i] == tc_el_inv(b[i]));
}

/* The norm of norms is the norm: but a root is no number to calculate with. */
static void test_square_of_root(void **state)
{
    struct tc_function f = tc_function_make(1, TC_FN_SQRT, 0, 0, 0);

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        tc_el x = any(i), root = tc_el_sqrt(&f, x);
        assert_true(tc_el_square(root) == x);
        assert_true(tc_el_mul(root, root) == x);
        assert_true(tc_el_add(root, 0) == tc_el_plain(root));
        assert_false(tc_el_same(tc_el_mul(tc_el_add(root, 0), tc_el_add(root, 0)), x));
    }
}

static void test_numbers_are_ratios(void **state)
{
    (void)state;
    assert_true(tc_el_add(tc_el_number(0.1, false), tc_el_number(0.2, false)) ==
                tc_el_number(0.3, false));
    assert_true(tc_el_mul(tc_el_number(1.0 / 12, false), 12) == 1);
    assert_true(tc_el_mul(tc_el_number((float)0.1, true), 10) == 1);
    assert_true(tc_el_square(tc_el_number(1 / sqrt(2), false)) == tc_el_inv(2));
    assert_false(tc_el_number(3.14159265, false) == tc_el_number(3.14159266, false));
}

static void test_masks(void **state)
{
    struct tc_function f = tc_function_make(1, TC_FN_EXP, 0, 0, 0);

    (void)state;
    assert_true(tc_el_apply(&f, tc_el_add(any(1), TC_EL_MINUS)) == 0);
    assert_true(tc_el_add(TC_EL_MINUS, TC_EL_PLUS) == TC_EL_UNDEF);
    assert_true(tc_el_mul(TC_EL_MINUS, 0) == TC_EL_UNDEF);
    assert_true(tc_el_compare(TC_EL_MINUS, any(1)) < 0);
}

static void test_functions_differ_by_attributes_and_seed(void **state)
{
    struct tc_function a = tc_function_make(1, TC_FN_GELU, 0, 0, 0);
    struct tc_function b = tc_function_make(1, TC_FN_GELU, 1, 0, 0);
    struct tc_function c = tc_function_make(2, TC_FN_GELU, 0, 0, 0);

    (void)state;
    assert_true(tc_el_apply(&a, 5) == tc_el_apply(&a, 5));
    assert_false(tc_el_apply(&a, 5) == tc_el_apply(&b, 5));
    assert_false(tc_el_apply(&a, 5) == tc_el_apply(&c, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws_hold_at_the_edges),
        cmocka_unit_test(test_scaled_roots_square_to_what_they_were),
        cmocka_unit_test(test_every_rule_has_a_degree),
        cmocka_unit_test(test_dot_does_not_overflow),
        cmocka_unit_test(test_many_inverses_are_those_of_each),
        cmocka_unit_test(test_square_of_root),
        cmocka_unit_test(test_numbers_are_ratios),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_functions_differ_by_attributes_and_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
