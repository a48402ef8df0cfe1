/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evaluation.h - a job while it is evaluated, as those see it who watch it: ranks, what they meet
 * at, why it ended early
 */
#ifndef TC_PLAN_EVALUATION_H
#define TC_PLAN_EVALUATION_H

#include "plan/program.h"

struct tc_ledger;
struct tc_laws;

/* One rank while it runs. */
struct tc_run {
    const struct tc_plan_rank *plan;
    tc_el **slots;
    uint32_t pc;
};

/* A rank at a collective. */
struct tc_participant {
    struct tc_run *run;
    const struct tc_plan_op *op;
};

struct tc_world_watch {
    /* After each operator, and for collectives after all have met; on any thread, at once for
     * several ranks. May be NULL. */
    void (*op)(void *context, const struct tc_run *run, uint32_t op);
    struct tc_ledger *ledger; /* counts degrees; may be NULL */
    struct tc_laws *laws;     /* of exp and log; NULL: they are hashes */
    /* Python has read another number of this operator's tensor than there is. May be NULL. */
    void (*misread)(void *context, const struct tc_run *run, const struct tc_plan_op *op,
                    int64_t is);
    /* A rank is done, its results are there. */
    void (*done)(void *context, const struct tc_run *run);
    /* Now and then; false ends it. */
    bool (*tick)(void *context);
    void *context;
};

enum tc_world_fault_kind {
    TC_WORLD_UNFIT,    /* an operator that cannot be evaluated, or a line that makes no sense */
    TC_WORLD_MISMATCH, /* collectives or messages that do not fit together */
    TC_WORLD_DEADLOCK,
};

/* Why an evaluation ended early: err has the text, with ranks and lines. */
struct tc_world_fault {
    enum tc_world_fault_kind kind;
    uint32_t rank;
    const struct tc_plan_op *op; /* NULL if it is about none */
};

#endif /* TC_PLAN_EVALUATION_H */
