/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_surprise.c - how many breaches of a fact are no chance
 */
#include "unit.h"

#include <math.h>

#include "fact/surprise.h"

#define N_BREACHES 64

/* Two runs of 100 windows, in each of which the fact was met. */
static const struct tc_fact_record often = {
    .windows = {200, 200},
      .n_runs = 2
};

static double of_one(const struct tc_fact_record *learned, uint64_t window)
{
    return tc_fact_surprise(learned, &window, 1);
}

/* One chance in three that a window of a third run breaks what one of three runs breaks. */
static void a_breach_is_told_by_how_long_runs_are(void **state)
{
    (void)state;
    assert_float_equal(of_one(&often, 0), 1.585, 0.001); /* the run goes on */
    assert_float_equal(of_one(&often, 99), 1.585, 0.001);
    assert_float_equal(of_one(&often, 999), 0.263, 0.001); /* ten times as long: 1200 / 1000 */
}

static void breaches_add_up(void **state)
{
    const uint64_t windows[] = {3, 50, 51, 52, 90};

    (void)state;
    assert_float_equal(tc_fact_surprise(&often, windows, 5), 5 * 1.585, 0.005);
    assert_true(tc_fact_surprise(&often, windows, 5) > tc_fact_surprise(&often, windows, 4));
}

/* What breaks in the beginning does not become less by what breaks after a long time. */
static void late_breaches_take_nothing_away(void **state)
{
    const uint64_t windows[] = {0, 1, 2, 100000};

    (void)state;
    assert_float_equal(tc_fact_surprise(&often, windows, 4), tc_fact_surprise(&often, windows, 3),
                       1e-9);
}

/* A fact that was met twice is broken on more occasions than it held. */
static void few_occasions_tell_little(void **state)
{
    const struct tc_fact_record rare = {
        .windows = {2, 200},
          .n_runs = 2
    };
    uint64_t windows[N_BREACHES];

    (void)state;
    for (uint64_t i = 0; i < N_BREACHES; i++)
        windows[i] = i;
    assert_float_equal(of_one(&rare, 0), 1.585, 0.001);
    assert_true(tc_fact_surprise(&rare, windows, N_BREACHES) < 4 / 0.693 + 0.01);
    assert_true(tc_fact_surprise(&often, windows, N_BREACHES) > 100);
}

static void what_is_met_once_in_a_run_knows_no_length(void **state)
{
    const struct tc_fact_record once = {
        .windows = {2, 200},
          .n_runs = 2
    };

    (void)state;
    assert_float_equal(of_one(&once, 99), 1.585, 0.001);
    assert_float_equal(of_one(&once, 9999), 1.585, 0.001);
}

static void what_a_person_wrote_is_no_chance(void **state)
{
    const struct tc_fact_record none = {
        .windows = {0, 0},
          .n_runs = 0
    };

    (void)state;
    assert_float_equal(of_one(&none, 0), 0, 1e-9);
    assert_float_equal(tc_fact_surprise(&often, NULL, 0), 0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_breach_is_told_by_how_long_runs_are),
        cmocka_unit_test(breaches_add_up),
        cmocka_unit_test(late_breaches_take_nothing_away),
        cmocka_unit_test(few_occasions_tell_little),
        cmocka_unit_test(what_is_met_once_in_a_run_knows_no_length),
        cmocka_unit_test(what_a_person_wrote_is_no_chance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
