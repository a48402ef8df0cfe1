/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.h - what is found of a parallel job: its outcome, each result, each finding
 */
#ifndef TC_PLAN_VERDICT_H
#define TC_PLAN_VERDICT_H

#include "base/strbuf.h"
#include "plan/carry.h"
#include "plan/world.h"

enum tc_plan_outcome {
    TC_PLAN_VERIFIED,
    TC_PLAN_REFUTED,
    TC_PLAN_UNJUDGED
};

/* What is known of one result of the reference. */
struct tc_plan_judged {
    tc_sym name;
    int64_t n;                 /* elements of the single-device tensor */
    tc_el **values;            /* for each seed; row-major */
    uint8_t *covered;          /* 1 for each element that some rank has */
    bool is_wrong, is_missing; /* missing: not all of it is on some rank */
    bool is_set_apart;         /* reduced within the optimizer's step: not compared */
    bool is_undefined;         /* it depends on memory that nothing wrote */
    TC_VEC(uint32_t) ranks;    /* on which it is wrong, in order */
};

/* A value beside the single-device value that it is, or should be. */
struct tc_plan_beside {
    const char *op, *src; /* of the parallel job; op is "" for what the step starts from */
    const char *name;     /* of a tensor that the step starts from; "" */
    const char *layout;   /* "Shard(0) over dp, Partial(sum) over tp" */
    const char *single_op, *single_src; /* of the single-device job; "" if it has no such value */
    bool is_broken;                     /* its way to who uses it is where the layouts part */
};

/* The operator at which the layouts part, between what it reads and the result. */
struct tc_plan_drawing {
    const struct tc_plan_beside *inputs;
    uint32_t n_inputs;
    struct tc_plan_beside value; /* that the operator makes; no op: nothing is drawn */
    const char *result;          /* "gradient of a.weight" */
};

/* What went wrong, for people: one sentence or more, where it was seen. */
struct tc_plan_finding {
    const char
        *kind; /* "missing-reduction", "factor", "deadlock", ...: stable names for machines */
    const char *text; /* "gradient of a.weight is Partial(sum) over tp, must be Replicate: ..." */
    const char *hint; /* "" if there is none */
    const char *src;  /* "train.py:51, in forward"; "" if unknown */
    const char *via;  /* of the operator; "" */
    const char *op;   /* "aten.native_layer_norm_backward"; "" if it is about none */
    const char *mod;  /* "layers.0" */
    const char *name; /* of the tensor; "" */
    const char *axis; /* "tp"; "" */
    const char *details; /* lines: the operands' relations */
    struct tc_plan_drawing drawing;
    const uint32_t *ranks;
    uint32_t n_ranks;
};

struct tc_plan_verdict {
    enum tc_plan_outcome outcome;
    enum tc_laws_mode laws; /* by which the results were compared */
    unsigned n_seeds;
    /* A wrong "verified" has a chance below 2^-error_bits, by the degrees that were counted; 0: the
     * degrees are too high for a bound. */
    unsigned error_bits;
    TC_VEC(struct tc_plan_judged) results;
    uint64_t n_wrong, n_verified;
    TC_VEC(struct tc_plan_finding) findings;
    TC_VEC(const char *) warnings;
    struct tc_map by_name; /* name -> index of results */
    struct tc_arena arena;
};

struct tc_verify_config {
    unsigned seeds, most_seeds; /* evaluations, and how many if these do not give error_bits */
    unsigned error_bits, threads;
    bool explain;
    bool (*progress)(void *context, uint64_t done, uint64_t of); /* operators; may be NULL */
    void *context;
};

/* The text in the memory of the verdict, "" if nothing was added to it; the buffer is released. */
const char *tc_plan_keep(struct tc_plan_verdict *v, struct tc_strbuf *text);
/* "gradient of a.weight", "a.weight after the step", "loss" */
void tc_plan_describe_result(const struct tc_plan_set *single, tc_sym name, struct tc_strbuf *out);
/* The gradient of a parameter that is a result; NULL: there is none. */
const struct tc_plan_judged *tc_plan_gradient_of(const struct tc_plan_verdict *v,
                                                 const struct tc_plan_set *single,
                                                 const struct tc_plan_judged *judged);
/* Is the parameter wrong after the step because its gradient is? */
bool tc_plan_follows_from_gradient(const struct tc_plan_verdict *v,
                                   const struct tc_plan_set *single,
                                   const struct tc_plan_judged *judged);
/* "0-7, 12" */
void tc_plan_describe_ranks(const uint32_t *ranks, size_t n, struct tc_strbuf *out);

#endif /* TC_PLAN_VERDICT_H */
