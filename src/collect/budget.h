/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - which steps are traced, so that tracing adds a given part to the time of a run
 *
 * The budget says how far away the next traced step is, give or take a quarter of that. Within
 * this span it is the one of the highest level. The level of a step is decided by its number alone:
 * of any 2^k steps that begin at a multiple of 2^k one, drawn among them, has level k or more. So
 * traced steps keep no rhythm, and processes that know nothing of each other choose the same ones
 * more often than chance would have it.
 *
 * Times are in any unit, as long as it is the same.
 */
#ifndef TC_COLLECT_BUDGET_H
#define TC_COLLECT_BUDGET_H

#include <stdint.h>

#define TC_BUDGET_MAX_LEVEL 20

struct tc_budget {
    double part;   /* of the job's own time */
    double credit; /* what may be spent now; below 0: what was spent too much */
    double cost;   /* of a traced step, as far as is known */
    double step;   /* of a step without tracing */
};

/* What was met in n steps that all were traced: their own time, and what tracing took beside it. */
void tc_budget_begin(struct tc_budget *budget, double part, int64_t n, double worked, double spent);

/* Since it was told last n steps have passed, of which the last one was traced. */
void tc_budget_spend(struct tc_budget *budget, int64_t n, double worked, double spent);

/* Steps to the next that can be paid, 1 or more. */
int64_t tc_budget_distance(const struct tc_budget *budget);

/* The step that is traced next after `from`, at that distance or somewhat later. */
int64_t tc_budget_next(const struct tc_budget *budget, int64_t from, int64_t distance);

/* The first step from `from` (0 or more) on whose level is at least that. */
int64_t tc_budget_first(int64_t from, unsigned level);

#endif /* TC_COLLECT_BUDGET_H */
