/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - all ranks of a job, evaluated in lock-step
 *
 * A rank runs until it needs what another one has not yet given: the result of a collective, a
 * message. Threads take ranks in turns. The values do not depend on the order. Ranks that compute
 * the same are evaluated once: what is watched is the rank that stands for them.
 */
#ifndef TC_PLAN_WORLD_H
#define TC_PLAN_WORLD_H

#include "base/strbuf.h"
#include "plan/program.h"

struct tc_degree;
struct tc_participant;
struct tc_ledger;

/* One rank while it runs. */
struct tc_run {
    const struct tc_plan_rank *plan;
    tc_el **slots;
    uint32_t pc;
};

struct tc_world_watch {
    /* After each operator, and for collectives after all have met; on any thread, at once for
     * several ranks. May be NULL. */
    void (*op)(void *context, const struct tc_run *run, uint32_t op);
    struct tc_ledger *ledger; /* counts degrees; may be NULL */
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

/* TC_E_FORMAT fills fault. */
enum tc_status tc_world_run(const struct tc_plan_set *set, uint64_t seed, unsigned threads,
                            const struct tc_world_watch *watch, struct tc_world_fault *fault,
                            struct tc_error *err);

/* "aten.add" of "aten.add.Tensor": its bytes. */
int tc_plan_short_name(const struct tc_plan_op *op);
/* "train.py:51" of "train.py:51, in forward". */
struct tc_str tc_plan_line_of(const struct tc_plan_op *op);

#endif /* TC_PLAN_WORLD_H */
