/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice.h - which of the sets that @all stands for a run has to do with
 *
 * A set is for runs that import its packages, and in several processes if its header says so. It
 * also counts where one of its invariants found something to judge: a package may be imported after
 * the trace began.
 */
#ifndef TC_CHECK_CHOICE_H
#define TC_CHECK_CHOICE_H

#include "check/engine.h"
#include <traincheck/check.h>
#include <traincheck/trace.h>

struct tc_choice_set;

struct tc_choice {
    const struct tc_invariant_set *set;
    TC_VEC(struct tc_choice_set *) sets; /* one for each file that is optional */
    int64_t world;                       /* processes of the largest run */
    bool is_silent;                      /* a trace does not say what it imports */
    unsigned needs_noted;                /* bits of enum tc_need */
    bool is_noted;                       /* that torch is another than that of learning */
};

/* set is borrowed. */
void tc_choice_init(struct tc_choice *choice, const struct tc_invariant_set *set);
void tc_choice_release(struct tc_choice *choice);

/* A process of a run; telling of it twice changes nothing. What is odd about its version of torch
 * is noted. */
void tc_choice_meet(struct tc_choice *choice, const struct tc_process *process,
                    struct tc_notes *notes);
/* Let the engine tell of the sets that count, and say which these are. */
void tc_choice_apply(struct tc_choice *choice, struct tc_engine *engine,
                     struct tc_check_result *result);

#endif /* TC_CHECK_CHOICE_H */
