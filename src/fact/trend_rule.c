/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend_rule.c - the rule of how a number goes on: what a run says of it, and what is claimed by
 * that
 *
 * A run tells how often it rose or fell, and at what it stayed; all runs together which of that is
 * no chance (trend.c says why).
 */
#include "fact/trend_rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fact/one_value.h"
#include "relation/relation.h"

/* Claims. A run says OTHERWISE, or one of these with a number: how far it came, how often it fell
 * or rose, at what it stayed. */
#define NEVER_RISES "\"never rises\""
#define NEVER_FALLS "\"never falls\""
#define NEVER_TURNS "\"never turns back\""
#define GOES_ON     "\"goes on rising to %.15g\""
#define OTHERWISE   "\"otherwise\""
#define FALLS       "\"falls %.0f, after a stay %.0f\""
#define RISES       "\"rises %.0f, after a stay %.0f\""
#define STAYS       "\"stays %.15g\""
#define CLIMBS      "\"climbs %.0f times to %.15g\""
#define SINKS       "\"sinks %.0f times to %.15g\""
#define GOES_READ   "\"goes on rising to %lf"
#define FALLS_READ  "\"falls %lf, after a stay %lf"
#define RISES_READ  "\"rises %lf, after a stay %lf"
#define STAYS_READ  "\"stays %lf"

static bool is_going_on(const char *claim)
{
    return !strncmp(claim, GOES_ON, strlen("\"goes on"));
}

bool tc_fact_trend_holds(const struct tc_fact_trend *t, const char *claim)
{
    if (t->n < 2)
        return true;
    if (!strcmp(claim, NEVER_RISES))
        return t->by <= 0;
    if (!strcmp(claim, NEVER_FALLS))
        return t->by >= 0;
    if (!strcmp(claim, NEVER_TURNS))
        return t->by == 0 || !t->n_rises || !t->n_falls;
    return !is_going_on(claim) || t->by > 0 || t->before >= tc_fact_trend_reach(claim);
}

double tc_fact_trend_reach(const char *claim)
{
    double reach = INFINITY;

    (void)sscanf(claim, GOES_READ, &reach);
    return reach;
}

void tc_fact_print_trend(const struct tc_fact_trend *t, char *text, size_t size)
{
    const uint64_t n_moves = t->n_rises + t->n_falls, n_stays = t->n - 1 - n_moves;

    if (t->n > TC_FACT_ENOUGH && t->by > 0 && !t->is_other)
        snprintf(text, size, GOES_ON, t->last);
    else if (!t->is_saved && n_moves >= TC_FACT_ENOUGH && !(t->n_rises && t->n_falls))
        snprintf(text, size, t->n_rises ? CLIMBS : SINKS, (double)n_moves, t->last);
    else if (t->n <= TC_FACT_ENOUGH || (n_moves && !t->is_saved) || n_stays < TC_FACT_OFTEN ||
             (t->n_rises && t->n_falls))
        snprintf(text, size, OTHERWISE);
    else if (!n_moves)
        snprintf(text, size, STAYS, t->last);
    else
        snprintf(text, size, t->n_rises ? RISES : FALLS, (double)n_moves, (double)t->n_between);
}

/* ---- the rule -------------------------------------------------------------------------------- */

/* What runs say together. */
struct trends {
    double rises, falls, between, reach;
    size_t n_stay, n_on, n_climbs, n_sinks, n_other;
};

static void add_run(struct trends *all, const char *text)
{
    double number, between = 0;

    if (is_going_on(text)) {
        all->n_on++;
        all->reach = fmax(all->reach, tc_fact_trend_reach(text));
    } else if (!strncmp(text, CLIMBS, strlen("\"climbs")))
        all->n_climbs++;
    else if (!strncmp(text, SINKS, strlen("\"sinks")))
        all->n_sinks++;
    else if (sscanf(text, RISES_READ, &number, &between) == 2)
        all->rises += number;
    else if (sscanf(text, FALLS_READ, &number, &between) == 2)
        all->falls += number;
    else if (sscanf(text, STAYS_READ, &number) == 1)
        all->n_stay++;
    else
        all->n_other++;
    all->between += between;
}

/* Which way it goes, with stops on the way: an accuracy that rises and then is the greatest there
 * is has none. Or where no run shows that, that it goes one way. A number that all runs have is no
 * best of them. */
static const char *claim_of(const struct trends *all, bool are_alike)
{
    if (all->n_other || all->n_on || (all->rises && all->falls))
        return NULL;
    if (all->n_climbs || all->n_sinks)
        return !are_alike ? NULL : all->n_climbs ? NEVER_FALLS : NEVER_RISES;
    if (all->rises && all->between >= TC_FACT_OFTEN)
        return NEVER_FALLS;
    if (all->falls && all->between >= TC_FACT_OFTEN)
        return NEVER_RISES;
    return !all->rises && !all->falls && all->n_stay > 1 && !are_alike ? NEVER_TURNS : NULL;
}

static tc_sym propose(struct tc_strtab *symbols, enum tc_attribute attribute,
                      const struct tc_outcomes *outcomes)
{
    const bool are_alike = tc_fact_propose_one(symbols, attribute, outcomes) != TC_NO_SYM;
    struct trends all = {0};
    const char *claim;
    char text[64];

    for (size_t i = 0; i < outcomes->n; i++)
        if (outcomes->n_outcome[i] == 1)
            add_run(&all, tc_strtab_text(symbols, outcomes->outcome[i][0]));
        else
            all.n_other++;
    snprintf(text, sizeof(text), GOES_ON, all.reach);
    claim = all.n_on && all.n_on == outcomes->n ? text : claim_of(&all, are_alike);
    return claim ? tc_strtab_intern_text(symbols, claim) : TC_NO_SYM;
}

static bool holds(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen)
{
    const char *expected = tc_strtab_text(symbols, claim->value);
    struct trends run = {0};

    if (seen == claim->value)
        return true;
    add_run(&run, tc_strtab_text(symbols, seen));
    if (run.n_on)
        return run.reach <= tc_fact_trend_reach(expected);
    if (run.n_other)
        return false;
    return !strcmp(expected, NEVER_TURNS) ||
           (!strcmp(expected, NEVER_RISES) && !run.rises && !run.n_climbs) ||
           (!strcmp(expected, NEVER_FALLS) && !run.falls && !run.n_sinks);
}

const struct tc_fact_rule tc_fact_trend = {.propose = propose, .holds = holds};
