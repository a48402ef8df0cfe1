/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_step_spread.c - steps in bounded memory, in whatever order they come
 */
#include "unit.h"

#include "check/step_spread.h"

static void few_steps_are_all_known(void **state)
{
    struct tc_step_spread spread = {0};

    (void)state;
    for (int64_t i = TC_SPREAD_STRETCHES; i-- > 0;) {
        tc_step_spread_add(&spread, i * 1000003);
        tc_step_spread_add(&spread, i * 1000003);
    }
    tc_step_spread_add(&spread, -1);
    assert_int_equal(spread.shift, 0);
    assert_int_equal(spread.n, TC_SPREAD_STRETCHES);
    for (size_t i = 0; i < spread.n; i++) {
        assert_int_equal(spread.items[i].first, i * 1000003);
        assert_int_equal(spread.items[i].last, i * 1000003);
        assert_int_equal(spread.items[i].n, 2);
    }
}

static void many_steps_are_counted_in_stretches(void **state)
{
    struct tc_step_spread spread = {0};
    uint64_t n = 0;

    (void)state;
    for (int64_t step = 37; step < 1000000; step++)
        tc_step_spread_add(&spread, step);
    assert_true(spread.n > TC_SPREAD_STRETCHES / 4);
    assert_int_equal(spread.items[0].first, 37);
    assert_int_equal(spread.items[spread.n - 1].last, 999999);
    for (size_t i = 0; i < spread.n; i++) {
        const struct tc_step_stretch *s = &spread.items[i];
        assert_int_equal(s->n, s->last - s->first + 1);
        assert_true(i == 0 || spread.items[i - 1].last + 1 == s->first);
        n += s->n;
    }
    assert_int_equal(n, 1000000 - 37);
}

static void assert_equal(const struct tc_step_spread *a, const struct tc_step_spread *b)
{
    assert_int_equal(a->shift, b->shift);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->items, b->items, a->n * sizeof(*a->items));
}

/* The same steps, in three orders and in two parts. */
static void the_order_does_not_matter(void **state)
{
    struct tc_step_spread forth = {0}, back = {0}, leaps = {0}, parts[2] = {{0}, {0}};

    (void)state;
    for (int64_t i = 0; i < 5000; i++) {
        const int64_t leap = i * 1237 % 5000;
        tc_step_spread_add(&forth, i * i % 70001);
        tc_step_spread_add(&back, (4999 - i) * (4999 - i) % 70001);
        tc_step_spread_add(&leaps, leap * leap % 70001);
        tc_step_spread_add(&parts[i % 7 == 0], i * i % 70001);
    }
    tc_step_spread_join(&parts[1], &parts[0]);
    assert_equal(&forth, &back);
    assert_equal(&forth, &leaps);
    assert_equal(&forth, &parts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_steps_are_all_known),
        cmocka_unit_test(many_steps_are_counted_in_stretches),
        cmocka_unit_test(the_order_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
