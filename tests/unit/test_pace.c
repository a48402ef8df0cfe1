/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pace.c - steps a second of jobs that are steady, written in bursts, slow, halted and begun
 * anew
 */
#include "unit.h"

#include "online/pace.h"

static struct tc_pace pace;

static int begin(void **state)
{
    (void)state;
    pace = (struct tc_pace){.n = 0};
    return 0;
}

/* A job with a step each step_ms, written each flush_ms, looked at each 100 ms; the pace at the
 * end. */
static double after(uint64_t begin_ms, uint64_t end_ms, uint64_t step_ms, uint64_t flush_ms)
{
    for (uint64_t ms = begin_ms; ms <= end_ms; ms += 100)
        tc_pace_add(&pace, ms, (int64_t)((ms - begin_ms) / flush_ms * flush_ms / step_ms));
    return tc_pace_per_s(&pace, end_ms);
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    assert_float_equal(tc_pace_per_s(&pace, 7), 0, 0);
    tc_pace_add(&pace, 1000, 5);
    assert_float_equal(tc_pace_per_s(&pace, 1000), 0, 0);
}

static void a_steady_job(void **state)
{
    (void)state;
    assert_float_equal(after(1000, 60000, 20, 100), 50, 0.5);
    assert_int_equal(pace.n, TC_PACE_SAMPLES);
}

static void bursts_do_not_show(void **state)
{
    (void)state;
    for (uint64_t end_ms = 20000; end_ms < 21000; end_ms += 100) {
        begin(NULL);
        assert_float_equal(after(0, end_ms, 100, 500), 10, 0.01);
    }
}

static void the_time_before_the_first_step_does_not_count(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 30000; ms += 100)
        tc_pace_add(&pace, ms, 0);
    tc_pace_add(&pace, 30400, 5);
    assert_float_equal(tc_pace_per_s(&pace, 30400), 10, 0.01);
}

static void a_slow_job(void **state)
{
    (void)state;
    for (uint64_t end_ms = 50000; end_ms < 70000; end_ms += 1700) {
        begin(NULL);
        assert_float_equal(after(0, end_ms, 20000, 100), 0.05, 0.001);
    }
}

static void a_job_that_stops(void **state)
{
    (void)state;
    after(0, 20000, 100, 100);
    assert_in_range((int)tc_pace_per_s(&pace, 24000), 2, 4);
    assert_float_equal(tc_pace_per_s(&pace, 26000), 0, 0);
    begin(NULL);
    after(0, 60000, 20000, 100);
    assert_true(tc_pace_per_s(&pace, 110000) > 0);
    assert_float_equal(tc_pace_per_s(&pace, 150000), 0, 0);
}

static void a_job_that_begins_anew(void **state)
{
    (void)state;
    after(0, 20000, 10, 100);
    tc_pace_add(&pace, 20100, 0);
    assert_float_equal(tc_pace_per_s(&pace, 20100), 0, 0);
    tc_pace_add(&pace, 20600, 10);
    assert_float_equal(tc_pace_per_s(&pace, 20600), 20, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_known_at_first, begin),
        cmocka_unit_test_setup(a_steady_job, begin),
        cmocka_unit_test_setup(bursts_do_not_show, begin),
        cmocka_unit_test_setup(the_time_before_the_first_step_does_not_count, begin),
        cmocka_unit_test_setup(a_slow_job, begin),
        cmocka_unit_test_setup(a_job_that_stops, begin),
        cmocka_unit_test_setup(a_job_that_begins_anew, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
