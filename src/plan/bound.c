/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound.c - from the degrees of an evaluation to the chance of a wrong "equal"
 */
#include "plan/ledger.h"

#include <math.h>

#include "plan/ledger_state.h"

void tc_degree_raise(struct tc_degree *a, struct tc_degree to)
{
    a->own = fmax(a->own, to.own);
    a->inverses = fmax(a->inverses, to.inverses);
    a->level = a->level > to.level ? a->level : to.level;
}

/* Degrees of all that is inverted up to a level: of the product that clears the inverses. */
static void clear_levels(const struct tc_ledger *a, const struct tc_ledger *b, double *all)
{
    all[0] = 0;
    for (unsigned i = 1; i <= TC_DEGREE_LEVELS; i++) {
        double own = a->levels[i].own + b->levels[i].own;
        double inverses = a->levels[i].inverses + b->levels[i].inverses;
        all[i] = all[i - 1] + own + 2 * inverses * all[i - 1];
    }
}

static double cleared(struct tc_degree d, const double *all)
{
    return fmax(d.own, 1) + 2 * d.inverses * all[d.level];
}

/* Chances that two different arguments of a function are equal. A result rests on n_late of those
 * that are counted by element, which may meet each other and all others. */
static double collisions(const struct applied *a, const struct applied *b, double n_late,
                         const double *all)
{
    struct tc_degree d = a->argument;
    double n = a->n + b->n + 1, chances;

    tc_degree_raise(&d, b->argument);
    chances = n > 1 ? n * n / 2 * cleared(d, all) : 0;
    if (!a->has_late && !b->has_late)
        return chances;
    tc_degree_raise(&d, a->late_argument);
    tc_degree_raise(&d, b->late_argument);
    return chances + (n_late * n_late / 2 + n_late * n) * cleared(d, all);
}

#define FIELD_BITS 120 /* of (2^61 - 1)^2 elements; a hash draws 0 twice as often in each half */

double tc_ledger_bits(const struct tc_ledger *single, const struct tc_ledger *parallel)
{
    double all[TC_DEGREE_LEVELS + 1], chances = 0;
    struct tc_degree d = single->result;

    if (single->is_too_deep || parallel->is_too_deep)
        return 0;
    clear_levels(single, parallel, all);
    tc_degree_raise(&d, parallel->result);
    chances = cleared(d, all);
    for (int f = 0; f < TC_N_FN; f++)
        chances += collisions(&single->functions[f], &parallel->functions[f],
                              single->late + parallel->late, all);
    if (parallel->mode != TC_LAWS_NONE)
        chances *= 2; /* exponentials may be inverses of variables */
    return fmax(FIELD_BITS - log2(chances), 0);
}

const struct tc_plan_op *tc_ledger_choice(const struct tc_ledger *l, uint64_t *n)
{
    *n = l->n_choices;
    return l->choice;
}
