/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_budget.c - levels of steps, and what is spent of a budget by jobs whose costs are made up
 */
#include "unit.h"

#include "collect/budget.h"

#define WARM_UP 10

static void of_each_block_one_step_has_the_level(void **state)
{
    (void)state;
    for (unsigned level = 0; level < 8; level++)
        for (int64_t block = 0; block < 64; block++) {
            const int64_t begin = block << level, end = (block + 1) << level;
            const int64_t drawn = tc_budget_first(begin, level);

            assert_true(drawn >= begin && drawn < end);
            assert_true(tc_budget_first(drawn + 1, level) >= end);
        }
}

static void higher_levels_are_among_the_lower_ones(void **state)
{
    (void)state;
    for (unsigned level = 1; level < 12; level++)
        for (int64_t step = tc_budget_first(0, level); step < 5000;
             step = tc_budget_first(step + 1, level))
            assert_int_equal(tc_budget_first(step, level - 1), step);
}

/* A job, and what tracing adds to it. */
struct job {
    double step, cost; /* of a step, of tracing it */
    int64_t rhythm;    /* each so-many-th step ... */
    double times;      /* ... takes and costs so many times as much */
    int64_t slower_at; /* from here on a step takes three times as long, and costs no more */
};

#define N_STEPS 20000

struct course {
    double worked, spent;
    int64_t n_traced, longest; /* steps from one to the next */
    bool is_traced[N_STEPS];
};

static double weight_of(const struct job *job, int64_t step)
{
    return job->rhythm && step % job->rhythm == 0 ? job->times : 1;
}

static double time_of(const struct job *job, int64_t step)
{
    return job->step * weight_of(job, step) * (job->slower_at && step >= job->slower_at ? 3 : 1);
}

static int64_t choose(const struct tc_budget *budget, int64_t last)
{
    return tc_budget_next(budget, last, tc_budget_distance(budget));
}

static void follow(const struct job *job, double part, struct course *course)
{
    struct tc_budget budget;
    int64_t last = WARM_UP - 1, next;

    memset(course, 0, sizeof(*course));
    tc_budget_begin(&budget, part, WARM_UP, job->step * WARM_UP, job->cost * WARM_UP);
    for (; (next = choose(&budget, last)) < N_STEPS; last = next) {
        const double spent = job->cost * weight_of(job, next);
        double worked = 0;

        for (int64_t step = last + 1; step <= next; step++)
            worked += time_of(job, step);
        tc_budget_spend(&budget, next - last, worked, spent);
        course->worked += worked;
        course->spent += spent;
        course->n_traced++;
        course->longest = next - last > course->longest ? next - last : course->longest;
        course->is_traced[next] = true;
    }
}

static const double parts[] = {0.1, 0.05, 0.02, 0.01, 0.005};
static const struct job jobs[] = {
    {2.6, 1.5, 0, 0, 0   },
    {50,  7,   0, 0, 0   },
    {1,   4,   0, 0, 0   },
    {2.6, 1.5, 0, 0, 3000}
};

static void a_budget_is_kept_and_used(void **state)
{
    struct course course;

    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        for (size_t k = 0; k < sizeof(jobs) / sizeof(*jobs); k++) {
            follow(&jobs[k], parts[i], &course);
            assert_in_range((int64_t)(course.spent / course.worked / parts[i] * 1000), 950, 1050);
        }
}

/* An evaluation that takes forty times a step is not spent on twice. */
static void a_budget_is_kept_where_steps_differ(void **state)
{
    const struct job job = {2.6, 1.5, 50, 40, 0};
    struct course course;

    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        follow(&job, parts[i], &course);
        assert_in_range((int64_t)(course.spent / course.worked / parts[i] * 1000), 700, 1200);
    }
}

static void what_is_cheap_is_traced_whole(void **state)
{
    const struct job job = {100, 1, 0, 0, 0};
    struct course course;

    (void)state;
    follow(&job, 0.02, &course);
    assert_int_equal(course.n_traced, N_STEPS - WARM_UP);
}

static void traced_steps_lie_evenly(void **state)
{
    struct course course;

    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        follow(&jobs[0], parts[i], &course);
        assert_true(course.longest < 2 * N_STEPS / course.n_traced);
    }
}

/* A script that does something in every second or tenth step is met as often as it does. */
static void no_rhythm_is_kept(void **state)
{
    struct course course;
    int64_t even = 0, tenth = 0;

    (void)state;
    follow(&jobs[0], 0.05, &course);
    for (int64_t step = 0; step < N_STEPS; step++) {
        even += course.is_traced[step] && step % 2 == 0;
        tenth += course.is_traced[step] && step % 10 == 0;
    }
    assert_in_range(even * 1000 / course.n_traced, 450, 550);
    assert_in_range(tenth * 1000 / course.n_traced, 80, 120);
}

/* Hosts that know nothing of each other, one of which has a fifth more to do. */
static void many_of_the_same_steps_are_chosen(void **state)
{
    const struct job more = {2.6, 1.8, 0, 0, 0};
    struct course one, other;
    int64_t both = 0;

    (void)state;
    follow(&jobs[0], 0.02, &one);
    follow(&more, 0.02, &other);
    for (int64_t step = 0; step < N_STEPS; step++)
        both += one.is_traced[step] && other.is_traced[step];
    assert_true(5 * both > 2 * other.n_traced);
}

/* After an evaluation of an hour steps are traced no more often than before it. */
static void credit_is_not_saved(void **state)
{
    struct tc_budget budget;
    int64_t step = 100;

    (void)state;
    tc_budget_begin(&budget, 0.02, 10, 100, 100);
    tc_budget_spend(&budget, 1, 3600000, 10);
    for (int i = 0; i < 20; i++) {
        const int64_t next = choose(&budget, step);

        tc_budget_spend(&budget, next - step, 10 * (double)(next - step), 10);
        step = next;
    }
    assert_true(step > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_each_block_one_step_has_the_level),
        cmocka_unit_test(higher_levels_are_among_the_lower_ones),
        cmocka_unit_test(a_budget_is_kept_and_used),
        cmocka_unit_test(a_budget_is_kept_where_steps_differ),
        cmocka_unit_test(what_is_cheap_is_traced_whole),
        cmocka_unit_test(traced_steps_lie_evenly),
        cmocka_unit_test(no_rhythm_is_kept),
        cmocka_unit_test(many_of_the_same_steps_are_chosen),
        cmocka_unit_test(credit_is_not_saved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
