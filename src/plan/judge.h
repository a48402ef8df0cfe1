/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - a verdict while it is found; shared by the files that find it
 */
#ifndef TC_PLAN_JUDGE_H
#define TC_PLAN_JUDGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "plan/ledger.h"
#include "plan/verdict.h"

struct judge;

/* One seed's evaluation. */
struct trial {
    struct judge *judge;
    unsigned seed;      /* its number */
    struct tc_map sums; /* values that are summed over ranks first */
    enum tc_status status;
    struct tc_world_fault fault;
    bool in_single; /* the fault is in the reference */
    struct tc_laws *laws;
    struct tc_ledger *degrees[2]; /* of the reference and the job; NULL: not counted */
    struct tc_error err;
};

struct judge {
    const struct tc_plan_set *single, *parallel;
    const struct tc_verify_config *config;
    struct tc_plan_verdict *verdict;
    pthread_mutex_t lock;
    atomic_uint_fast64_t done;
    const struct tc_plan_op *misread; /* of which Python has read another number; NULL: none */
    uint32_t misread_rank;
    const struct tc_plan_program *misread_program;
    int64_t misread_is;                  /* what it should have read */
    unsigned unknown;                    /* different operators without a rule */
    const struct tc_plan_op *unknown_op; /* the first of them */
    bool has_fault;                      /* an evaluation ended early, and a finding says why */
    enum tc_laws_mode last_laws;         /* those that are tried last */
};

/* NULL if the reference has no result of that name. */
struct tc_plan_judged *tc_judged_of(const struct tc_plan_verdict *v, tc_sym name);

/* Do names, sizes and batches of the two agree? If not they cannot be compared. */
enum tc_status tc_judge_check_names(const struct judge *j, struct tc_error *err);

/* As tc_world_watch's done: the context is a trial. */
void tc_trial_take_reference(void *context, const struct tc_run *run);
void tc_trial_take_results(void *context, const struct tc_run *run);
/* Once all ranks are done; frees what they were summed in. */
void tc_trial_compare_sums(struct trial *t);

/* About an operator of a rank; NULL and TC_PLAN_NO_RANK: about none. Texts that are NULL are "". */
void tc_judge_add_finding(struct tc_plan_verdict *v, const struct tc_plan_op *op, uint32_t rank,
                          struct tc_plan_finding f);
/* Operators without a rule of which no hash can be made; with is_told all others, too. */
void tc_judge_find_unknown(struct judge *j, bool is_told);
/* Some are hashes: said of a job that is verified; one that is refuted is unjudged. */
void tc_judge_conclude_unknown(struct judge *j);
/* The last of the laws that may tell the jobs equal; NONE: they compute nothing that has some. */
enum tc_laws_mode tc_judge_last_laws(const struct judge *j);
/* Results that no rank has, or not all of. */
void tc_judge_find_missing(struct judge *j);
/* Why a trial ended early. */
void tc_judge_add_fault(struct judge *j, const struct trial *t);
/* As tc_world_watch's misread: the first counts. */
void tc_trial_take_misread(void *context, const struct tc_run *run, const struct tc_plan_op *op,
                           int64_t is);
/* A job that is refuted, though what Python computed from a number may not be that of the job. */
void tc_judge_add_misread(struct judge *j);
/* A job that is refuted, though ranks exchange numbers before the step that one device has rounded.
 */
void tc_judge_add_rounded(struct judge *j);
/* A job that is refuted: are its results those of one device in float64? */
bool tc_judge_agrees_in_doubles(const struct judge *j);
/* Then it is unjudged: where it departs in the field is said. */
void tc_judge_conclude_doubles(struct judge *j);
/* A gradient that differs before the optimizer's step, though the parameter after it does not. */
bool tc_judge_is_reduced_in_step(const struct judge *j, const struct tc_plan_judged *gradient);

/* Has no rank a gradient whose parameter the step has written, and made wrong? The parameter tells
 * more. */
bool tc_judge_is_told_after_step(const struct judge *j, const struct tc_plan_judged *gradient);
/* Is it a tensor that an optimizer trains and no module holds, and is it none of the reference's?
 */
bool tc_judge_is_of_optimizer_alone(const struct judge *j, tc_sym name);
/* A job that is refuted, and does not update all parameters that one device updates. */
void tc_judge_add_untrained(struct judge *j);
/* Operators that chose by an order of values: a warning. */
void tc_judge_warn_choices(struct judge *j, const struct tc_ledger *ledger);
/* All values are compared: the outcome. */
void tc_judge_conclude(struct judge *j);

#endif /* TC_PLAN_JUDGE_H */
