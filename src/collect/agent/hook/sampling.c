/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling.c - an interval, or the books of a budget as steps go by
 *
 * The next traced step is chosen when it is first asked whether a step after the last chosen one
 * is traced, which is about when that one ends. Step 0 is in no book: what is met for the first
 * time is described then, and that is not what a step costs. Ranks of a host choose together
 * (board.h). What other threads are told is published as atomic numbers.
 */
#include "collect/agent/hook/sampling.h"

#include <stdatomic.h>
#include <stdio.h>

#include "collect/agent/hook/own_time.h"
#include "collect/board.h"
#include "collect/budget.h"

struct tc_own_time tc_own_time;

/* Where the books were read. */
struct mark {
    uint64_t at, own; /* ticks: of the clock, and of our own time until then */
};

static struct {
    int64_t interval, warm_up;
    double part; /* of a budget; 0: none */
    struct tc_budget budget;
    int64_t last, next; /* traced ones: after which the next was chosen last, and that */
    bool is_open;       /* the books are: step 0 is over */
    bool is_told;       /* what was traced and what that added: a process may end more than once */
    struct mark begun;  /* when the warm-up was over */
    struct mark chosen; /* when the next one was chosen, at first when step 0 was over */
    uint64_t replicas;  /* who chooses together; 0: nobody */
    _Atomic int64_t n_chosen, shown_next;
    _Atomic uint64_t spent, worked;
} sampling;

static struct mark mark_now(void)
{
    return (struct mark){tc_ticks(), tc_own_time.ticks};
}

static double spent_since(const struct mark *mark, const struct mark *now)
{
    return (double)(now->own - mark->own);
}

static double worked_since(const struct mark *mark, const struct mark *now)
{
    const double passed = (double)(now->at - mark->at), spent = spent_since(mark, now);

    return passed > spent ? passed - spent : 0; /* threads may wait for something together */
}

static void begin_again(void)
{
    sampling.last = sampling.next = sampling.warm_up - 1;
    sampling.n_chosen = 0;
    sampling.is_open = sampling.is_told = false;
    sampling.shown_next = sampling.next;
    sampling.spent = sampling.worked = 0;
}

void tc_sampling_set(unsigned interval, unsigned warm_up, unsigned budget)
{
    sampling.interval = interval;
    sampling.warm_up = warm_up;
    sampling.part = budget / 1e6;
    tc_own_time.is_measured = budget > 0;
    begin_again();
}

/* ---- a budget ---- */

static uint64_t ask_replicas(void)
{
    PyObject *told = tc_policy_call("replicas", NULL);
    uint64_t replicas = told ? PyLong_AsUnsignedLongLong(told) : 0;

    Py_XDECREF(told);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return replicas;
}

static void publish(const struct mark *now)
{
    sampling.spent = (uint64_t)spent_since(&sampling.begun, now);
    sampling.worked = (uint64_t)worked_since(&sampling.begun, now);
    sampling.shown_next = sampling.next;
}

/* The steps until the chosen one are over, or nearly. */
static void settle(const struct mark *now)
{
    const double worked = worked_since(&sampling.chosen, now),
                 spent = spent_since(&sampling.chosen, now);

    if (!sampling.n_chosen) { /* the warm-up is, in whose first step they were opened */
        tc_budget_begin(&sampling.budget, sampling.part, sampling.warm_up - 1, worked, spent);
        sampling.begun = *now;
        sampling.replicas = ask_replicas();
    } else {
        tc_budget_spend(&sampling.budget, sampling.next - sampling.last, worked, spent);
    }
    sampling.chosen = *now;
}

/* As far away as the poorest of the replicas asks for, as far as is known. */
static void choose_next(void)
{
    const struct mark now = mark_now();
    int64_t distance, others, step;

    settle(&now);
    distance = tc_budget_distance(&sampling.budget);
    others = (int64_t)tc_board_wanted(sampling.replicas);
    step = tc_budget_next(&sampling.budget, sampling.next, distance > others ? distance : others);
    sampling.last = sampling.next;
    sampling.next = (int64_t)tc_board_choose(sampling.replicas, (uint64_t)sampling.n_chosen,
                                             (uint64_t)step, (uint64_t)distance);
    sampling.n_chosen++;
    publish(&now);
}

static bool takes_of_budget(int64_t step)
{
    if (step < sampling.warm_up) {
        if (step == 1 && !sampling.is_open) /* step 0 is over, or nearly */
            sampling.chosen = mark_now();
        sampling.is_open |= step == 1;
        return true;
    }
    while (step > sampling.next)
        choose_next();
    return step == sampling.next || step == sampling.last;
}

bool tc_sampling_takes(int64_t step)
{
    if (sampling.part > 0)
        return takes_of_budget(step);
    return sampling.interval < 2 || step < sampling.warm_up ||
           (step - sampling.warm_up) % sampling.interval == 0;
}

/* ---- what was kept ---- */

void tc_sampling_total(int64_t n_steps, struct tc_sampling_totals *out)
{
    const int64_t n_chosen = sampling.n_chosen;

    *out = (struct tc_sampling_totals){0};
    if (!n_chosen || n_steps <= sampling.warm_up || !sampling.worked)
        return;
    out->n_steps = (uint64_t)(n_steps - sampling.warm_up);
    out->n_traced = (uint64_t)(n_chosen - 1 + (sampling.shown_next < n_steps));
    out->spent = sampling.spent;
    out->worked = sampling.worked;
}

void tc_sampling_finish(int64_t n_steps)
{
    const struct mark now = mark_now();
    struct tc_sampling_totals totals;
    char text[120];

    if (sampling.n_chosen)
        publish(&now);
    tc_sampling_total(n_steps, &totals);
    if (!totals.n_steps || sampling.is_told)
        return;
    sampling.is_told = true;
    snprintf(text, sizeof(text),
             "after the first %lld steps %llu of %llu were traced, which added %.2f %% of time",
             (long long)sampling.warm_up, (unsigned long long)totals.n_traced,
             (unsigned long long)totals.n_steps,
             100.0 * (double)totals.spent / (double)totals.worked);
    tc_agent_note("budget", text, (int64_t)totals.n_traced);
}

void tc_sampling_reset(void)
{
    tc_own_time.ticks = 0;
    sampling.replicas = 0;
    begin_again();
}
