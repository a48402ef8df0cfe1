/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_step.h - what the ranks of a job report of one step
 */
#ifndef TC_RELATION_REPLICA_STEP_H
#define TC_RELATION_REPLICA_STEP_H

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "relation/consistent.h"
#include "relation/ranks.h"
#include "relation/replica_adding.h"

/* A distinct content of a variable, with the lowest rank that has it. */
struct tc_replica_content {
    struct tc_snapshot snapshot;
    int64_t rank;
};

/* One variable in one step. */
struct tc_replica {
    struct tc_variable variable;           /* as on the lowest rank; its attrs are not kept */
    tc_sym attr;                           /* of a setting: which one; TC_NO_SYM for tensors */
    size_t index;                          /* of the setting in its group, there */
    int64_t rank;                          /* the lowest */
    tc_sym situation;                      /* there; a symbol of tc_replica_reports.situations */
    int64_t n_ranks, last_rank;            /* that had it; that said so last */
    struct tc_replica_content contents[2]; /* those of the lowest ranks, lowest first */
    unsigned n_contents;
    bool data_differs, dtype_differs, shape_differs, is_incomparable;
    bool is_part;             /* of the ranks that hold one part of it; others hold other parts */
    uint64_t first_data;      /* on one of them, when it was first seen */
    bool has_first;           /* one of them knows that */
    bool first_differs;       /* on another one it was another */
    tc_sym first_shape;       /* on the rank that reported first, then */
    bool first_shape_differs; /* on another one it was another */
    bool is_sharded;          /* on one of them */
    bool is_stage;            /* its model is another one on each rank */
    bool is_own;              /* each rank has one of its own, and always had */
    bool is_untold;           /* a batch of which nothing can be said */
};

struct tc_replica_step {
    int64_t step, world;
    struct tc_ranks ranks; /* that reported */
    struct tc_place place; /* of the lowest */
    struct tc_adding adding;
    TC_VEC(struct tc_replica) variables;
    struct tc_map by_name; /* name → place in variables */
};

/* What reports are made of, and what processes have said before. */
struct tc_replica_reports {
    struct tc_strtab *situations; /* of variables, as bytes */
    struct tc_map batches; /* process → digest of what models were given in the open window */
    struct tc_map seeds;   /* process → that by which its first sampler parts the data */
    struct tc_map uneven;  /* processes whose steps are not those of the other ranks */
    struct tc_map adding;  /* process → struct tc_adding * */
};

void tc_replica_reports_release(struct tc_replica_reports *reports);
/* A call of a main process returned. */
void tc_replica_meet_call(struct tc_replica_reports *reports, const struct tc_event *event);
/* A process reports what it has at the end of the step. */
void tc_replica_report(struct tc_replica_reports *reports, struct tc_replica_step *step,
                       struct tc_strtab *symbols, const struct tc_event *event,
                       const struct tc_sink *sink);

void tc_replica_step_free(struct tc_replica_step *step);

#endif /* TC_RELATION_REPLICA_STEP_H */
