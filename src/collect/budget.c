/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.c - the books of a budget, and the levels of steps
 *
 * The job's time earns credit, traced steps spend it. The next one is far enough away when what
 * will be earned until then covers what one has cost on average. Credit is not saved for long, as
 * after an hour of evaluation all steps would be traced; a debt is paid back whole. The step of a
 * level is drawn from the top: of a block of 2^k steps a hash says which half has the one of level
 * k, down to a single step.
 */
#include "collect/budget.h"

#include "base/hash.h"

/* An average follows what it is of by so much each time, of which no more counts than so many times
 * the average: an evaluation is no step as others. */
#define FOLLOW      0.125
#define MAX_COUNTED 4.0
/* Credit for more traced steps than that is given up. */
#define MAX_SAVED    2.0
#define MAX_DISTANCE ((int64_t)1 << TC_BUDGET_MAX_LEVEL)

void tc_budget_begin(struct tc_budget *budget, double part, int64_t n, double worked, double spent)
{
    *budget =
        (struct tc_budget){.part = part, .cost = spent / (double)n, .step = worked / (double)n};
}

static void follow_average(double *average, double met)
{
    const double counted = met < MAX_COUNTED * *average ? met : MAX_COUNTED * *average;

    *average += FOLLOW * (counted - *average);
}

void tc_budget_spend(struct tc_budget *budget, int64_t n, double worked, double spent)
{
    follow_average(&budget->cost, spent);
    follow_average(&budget->step, worked / (double)n);
    budget->credit += budget->part * worked - spent;
    if (budget->credit > MAX_SAVED * budget->cost)
        budget->credit = MAX_SAVED * budget->cost;
}

/* Steps that earn so much. */
static int64_t steps_for(const struct tc_budget *budget, double credit)
{
    const double earned = budget->part * budget->step;

    if (credit <= 0)
        return 0;
    return credit < earned * (double)MAX_DISTANCE ? (int64_t)(credit / earned) + 1 : MAX_DISTANCE;
}

/* Steps by which the next may be nearer, or further away, than others. */
static int64_t half_span(const struct tc_budget *budget)
{
    return steps_for(budget, budget->cost) / 4;
}

int64_t tc_budget_distance(const struct tc_budget *budget)
{
    const int64_t needed = steps_for(budget, budget->cost - budget->credit);
    const int64_t least = steps_for(budget, budget->cost) / 2;
    const int64_t distance = (needed > least ? needed : least) - half_span(budget);

    return distance > 1 ? distance : 1;
}

int64_t tc_budget_next(const struct tc_budget *budget, int64_t from, int64_t distance)
{
    const int64_t begin = from + distance, end = begin + 2 * half_span(budget);
    unsigned level = TC_BUDGET_MAX_LEVEL;

    while (tc_budget_first(begin, level) > end)
        level--;
    return tc_budget_first(begin, level);
}

/* Of the block of 2^level steps of that number the one that has the level. */
static int64_t drawn_of(int64_t block, unsigned level)
{
    for (; level > 0; level--)
        block = 2 * block + (int64_t)(tc_hash_mix(0, (uint64_t)block, level) >> 32 & 1);
    return block;
}

int64_t tc_budget_first(int64_t from, unsigned level)
{
    const int64_t block = from >> level, drawn = drawn_of(block, level);

    return drawn >= from ? drawn : drawn_of(block + 1, level);
}
