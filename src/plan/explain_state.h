/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_state.h - a wrong job while its departure is searched; shared by the files that search
 */
#ifndef TC_PLAN_EXPLAIN_STATE_H
#define TC_PLAN_EXPLAIN_STATE_H

#include "plan/explain.h"
#include "plan/relate.h"

#define TC_NO_OP UINT32_MAX

/* One operator of the family's program, or of the single job. */
struct tc_story_node {
    uint32_t *deps; /* operators that wrote what it reads */
    uint32_t n_deps;
    const struct tc_plan_init **inits; /* that it reads as they were before the step */
    uint32_t n_inits;
    bool is_wanted, is_related_known;
    bool is_incomplete;    /* no single-device value, as it is made from a part of one: a sum over
                              the rows of a micro-batch */
    struct tc_part *parts; /* of each rank of the grid, for its first output */
    struct tc_related relation;
};

struct tc_story {
    const struct tc_plan_set *single, *parallel;
    struct tc_plan_verdict *verdict;
    const struct tc_plan_rank *rank; /* the one that is spoken of */
    const struct tc_plan_program *program;
    struct tc_grid grid;
    uint32_t *place; /* of each rank in the grid, TC_NO_OP outside */
    struct tc_story_node *nodes;
    struct tc_part **results; /* of each result of the rank, by place */
    struct tc_index index;
    struct tc_story_node *singles; /* of each operator of the single job: deps and inits alone */
    uint32_t *first;               /* for each of these, the first one that made the same value */
    struct tc_arena arena;
    uint32_t *told; /* operators that a finding is about */
    size_t n_told;
    int64_t sender;      /* a rank whose message is wrong on arrival; -1: none seen */
    bool is_last;        /* a message may be what a finding is about */
    struct tc_map parts; /* elements that the micro-batches of a line have of a value */
    bool is_all_related; /* the relations of all wanted operators are known */
};

/* ---- family.c ------------------------------------------------------------------------------ */

/* The grid of the ranks that do what s->rank does; false if they cannot be searched together. */
bool tc_story_find_family(struct tc_story *s);

/* ---- record.c ------------------------------------------------------------------------------ */

/* What depends on what, in both jobs. */
void tc_story_find_deps(struct tc_story *s);
/* Who wrote the result last; TC_NO_OP: nobody. */
uint32_t tc_story_writer(const struct tc_story *s, const struct tc_plan_result *r);
/* The operator and all it depends on will be recorded. */
void tc_story_want(struct tc_story *s, uint32_t op);
/* False if what is wanted takes too much memory. */
bool tc_story_make_room(struct tc_story *s);
enum tc_status tc_story_record(struct tc_story *s, const struct tc_verify_config *config,
                               struct tc_error *err);
void tc_story_release(struct tc_story *s);

/* ---- departure.c --------------------------------------------------------------------------- */

bool tc_story_has_all(const struct tc_story *s, const struct tc_part *parts);
const struct tc_related *tc_story_relation(struct tc_story *s, uint32_t op);
bool tc_story_is_reversed(const struct tc_story *s, const struct tc_related *r);
/* Where a value gets its factor, one after the other: operators whose factor no operand of theirs
 * has. Their number, most at most. */
uint32_t tc_story_factors(struct tc_story *s, uint32_t op, uint32_t *ops, uint32_t most);
/* Where the sum that an operator has a part of was split. */
uint32_t tc_story_origin(struct tc_story *s, uint32_t op, const struct tc_related *r);
/* The operator at which the job departs, and in *partial its operand that is a part of a sum;
 * TC_NO_OP: none. */
uint32_t tc_story_departure(struct tc_story *s, uint32_t start, uint32_t *partial);

/* ---- drawing.c ----------------------------------------------------------------------------- */

/* What the operator reads and makes; broken: the operand whose edge breaks, or TC_NO_OP for the
 * edge from the operator to the result. */
struct tc_plan_drawing tc_story_draw(struct tc_story *s, const struct tc_plan_judged *judged,
                                     uint32_t op, uint32_t broken);

/* The operator of the single job that uses the value of an operand, where none like `op` does: what
 * lies between is left out, or is not the same. TC_NO_OP: one does, or nothing uses it. */
uint32_t tc_story_other_use(struct tc_story *s, uint32_t op, uint32_t dep);

/* ---- tell.c -------------------------------------------------------------------------------- */

/* The value of a result is a single-device value in another relation than it must be. */
struct tc_plan_finding tc_story_tell_related(struct tc_story *s,
                                             const struct tc_plan_judged *judged,
                                             const struct tc_related *r, uint32_t writer);
struct tc_plan_finding tc_story_tell_departure(struct tc_story *s,
                                               const struct tc_plan_judged *judged, uint32_t op,
                                               uint32_t partial);

#endif /* TC_PLAN_EXPLAIN_STATE_H */
