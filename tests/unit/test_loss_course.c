/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_loss_course.c - the numbers of a run, step by step, in bounded memory
 */
#include "unit.h"

#include "compare/loss_course.h"

static void a_short_course_keeps_all(void **state)
{
    struct tc_loss_course course = {0};

    (void)state;
    for (int64_t i = 0; i < TC_MAX_LOSS_POINTS; i++)
        tc_loss_course_add(&course, i + 7, (double)i / 2);
    assert_int_equal(course.points.n, TC_MAX_LOSS_POINTS);
    for (size_t i = 0; i < course.points.n; i++) {
        assert_int_equal(course.points.items[i].step, i + 7);
        assert_true(course.points.items[i].value == (double)i / 2);
    }
    tc_loss_course_release(&course);
}

static void a_long_course_is_thinned_evenly(void **state)
{
    const int64_t lengths[] = {TC_MAX_LOSS_POINTS + 1, 2 * TC_MAX_LOSS_POINTS, 123457, 1000000};

    (void)state;
    for (size_t k = 0; k < N_OF(lengths); k++) {
        struct tc_loss_course course = {0};
        for (int64_t i = 0; i < lengths[k]; i++)
            tc_loss_course_add(&course, i, (double)i);
        const int64_t stride = INT64_C(1) << course.shift;
        assert_true(course.points.n <= TC_MAX_LOSS_POINTS);
        assert_true(course.points.n >= TC_MAX_LOSS_POINTS / 2);
        for (size_t i = 0; i < course.points.n; i++)
            assert_int_equal(course.points.items[i].step, (int64_t)i * stride);
        assert_true((int64_t)course.points.n * stride >= lengths[k]);
        tc_loss_course_release(&course);
    }
}

/* ---- windows ------------------------------------------------------------------------------- */

static const struct tc_call_site sites_of_test[] = {
    {.role = TC_ROLE_FUNCTION}, {.role = TC_ROLE_BACKWARD}, {.role = TC_ROLE_BACKWARD}};

/* Calls of the sites, whose receivers show the values; NULL shows none. */
static void note(struct tc_loss_course *course, const uint32_t *at, const double *const *values,
                 size_t n, bool has_step)
{
    struct tc_call_sites sites = {0};
    struct tc_course_window window = {.step = 3, .has_step = has_step};
    struct tc_record records[4] = {0};
    struct tc_value objects[4];
    struct tc_member members[4];

    for (size_t i = 0; i < N_OF(sites_of_test); i++)
        tc_vec_push(&sites.items, sites_of_test[i]);
    for (size_t i = 0; i < n; i++) {
        const struct tc_course_call call = {.site = at[i], .begin = &records[i]};
        if (values[i]) {
            members[i] = (struct tc_member){
                .key = {"value",                5                   },
                  .value = {.kind = TC_VALUE_FLOAT, .number = *values[i]}
            };
            objects[i] = (struct tc_value){.kind = TC_VALUE_OBJECT, .n = 1, .members = &members[i]};
            records[i].self = &objects[i];
        }
        tc_vec_push(&window.calls, call);
    }
    tc_loss_course_note(course, &sites, &window);
    tc_vec_release(&window.calls);
    tc_vec_release(&sites.items);
}

static void the_first_line_that_calls_backward_tells_the_number(void **state)
{
    const uint32_t at[] = {0, 1, 2, 1};
    const double numbers[] = {9, 1, 50, 4};
    const double *const values[] = {&numbers[0], &numbers[1], &numbers[2], &numbers[3]};
    struct tc_loss_course course = {0};

    (void)state;
    note(&course, at, values, N_OF(at), true);
    assert_int_equal(course.points.n, 1);
    assert_int_equal(course.points.items[0].step, 3);
    assert_true(course.points.items[0].value == 2.5);
    tc_loss_course_release(&course);
}

static void what_tells_no_number_makes_no_point(void **state)
{
    const uint32_t at[] = {0, 1};
    const double number = 9;
    const double *const values[] = {&number, NULL}, *const all[] = {&number, &number};
    struct tc_loss_course course = {0};

    (void)state;
    note(&course, at, values, N_OF(at), true);
    note(&course, at, all, N_OF(at), false);
    assert_int_equal(course.points.n, 0);
    tc_loss_course_release(&course);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_course_keeps_all),
        cmocka_unit_test(a_long_course_is_thinned_evenly),
        cmocka_unit_test(the_first_line_that_calls_backward_tells_the_number),
        cmocka_unit_test(what_tells_no_number_makes_no_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
