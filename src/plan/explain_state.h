/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_state.h - a wrong job while its departure is searched; shared by the files that search
 */
#ifndef TC_PLAN_EXPLAIN_STATE_H
#define TC_PLAN_EXPLAIN_STATE_H

#include "plan/relate.h"
#include "plan/verdict.h"

#define TC_NO_OP UINT32_MAX

/* One operator of the family's program, or of the single job. */
struct tc_story_node {
    uint32_t *deps; /* operators that wrote what it reads */
    uint32_t n_deps;
    const struct tc_plan_init **inits; /* that it reads as they were before the step */
    uint32_t n_inits;
    bool is_wanted, is_related_known;
    bool is_constant;      /* nothing that it is made of is drawn or received */
    bool is_incomplete;    /* no single-device value, as it is made from a part of one: a sum over
                              the rows of a micro-batch */
    uint8_t running;       /* see tc_story_is_running(); 0: not known yet */
    unsigned running_axes; /* and over which axes it is a part of a sum; a bit for each */
    struct tc_part *parts; /* of each rank of the grid, for its first output */
    struct tc_related relation;
};

struct tc_story {
    const struct tc_plan_set *single, *parallel;
    struct tc_plan_verdict *verdict;
    const struct tc_plan_rank *rank; /* the one that is spoken of */
    const struct tc_plan_program
        *program;            /* once deps are found with an operator for each output */
    const uint32_t *outs_at; /* of the rank's operators: the first of these; one more at the end */
    struct tc_grid grid;
    uint32_t *place;           /* of each rank in the grid, TC_NO_OP outside */
    uint64_t *families;        /* of each rank that is no copy: those that are searched together */
    const uint32_t **known_as; /* for each rank: of its operators, those of `program` that they
                                  stand for; NULL: it runs that program */
    struct tc_story_node *nodes;
    struct tc_part **results; /* of each result of the rank, by place */
    struct tc_index index;
    struct tc_story_node *singles; /* of each operator of the single job: deps and inits alone */
    uint32_t *first;               /* for each of these, the first one that made the same value */
    uint8_t *trusted; /* for each operator: a right result depends on it; NULL: not known yet */
    uint8_t *cleared; /* for each operator: a value is made of it that is right; NULL: not known yet
                       */
    struct tc_arena arena;
    uint32_t *told; /* operators that a finding is about */
    size_t n_told;
    int64_t sender;   /* a rank whose message is wrong on arrival; -1: none seen */
    uint32_t message; /* which one of those from it to this rank */
    uint32_t sent;    /* the operator that sends what another rank found wrong; or TC_NO_OP */
    const struct tc_plan_judged *wrong; /* the result that it found wrong */
    struct tc_plan_finding received;    /* what it would have told; no text: nothing */
    bool is_after_step;  /* gradients are summed within the step: its parameters are looked at */
    bool is_last;        /* a message may be what a finding is about */
    struct tc_map parts; /* elements that the micro-batches of a line have of a value */
    bool is_all_related; /* the relations of all wanted operators are known */
    bool skips_running;  /* sums on their way are no fault */
};

/* ---- family.c ------------------------------------------------------------------------------ */

/* The grid of the ranks that do what s->rank does; false if they cannot be searched together. */
bool tc_story_find_family(struct tc_story *s);

/* ---- align.c ------------------------------------------------------------------------------- */

/* Which operators of a program that differs somewhere stand for which of s->program; NULL: most
 * stand for none. In the arena. */
const uint32_t *tc_story_align(struct tc_story *s, const struct tc_plan_rank *rank);

/* ---- record.c ------------------------------------------------------------------------------ */

/* What depends on what in a program; the caller frees it. */
struct tc_story_node *tc_story_find_nodes(struct tc_story *s, const struct tc_plan_rank *rank);
/* The same in both jobs. */
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
/* Where the sum that an operator has a part of was split. */
uint32_t tc_story_split(struct tc_story *s, uint32_t op, const struct tc_related *r);
/* And what it added there: of micro-batches what made the last one. */
uint32_t tc_story_origin(struct tc_story *s, uint32_t op, const struct tc_related *r);
/* Operators between there and op, back from op, that one device does not run. Their number, most at
 * most. */
uint32_t tc_story_way(struct tc_story *s, uint32_t op, const struct tc_related *r, uint32_t *way,
                      uint32_t most);
/* The operator at which the job departs, and in *partial its operand that is a part of a sum;
 * TC_NO_OP: none. */
uint32_t tc_story_departure(struct tc_story *s, uint32_t start, uint32_t *partial);

/* Is an operand, or this value of an operator, a multiple that no right result has, too? */
bool tc_story_is_odd_multiple(struct tc_story *s, uint32_t op);
/* The first operator of the backward pass' end that sums other gradients over an axis of which the
 * value is Partial, on this rank or another one; NULL: none, or the value is none of the backward
 * pass. */
const struct tc_plan_op *tc_story_sum_of_others(const struct tc_story *s, uint32_t op,
                                                const struct tc_related *r);

/* ---- running.c ----------------------------------------------------------------------------- */

/* Is the value, which relates to nothing, a sum over ranks on its way? */
bool tc_story_is_running(struct tc_story *s, uint32_t op);
/* An operand, or what sums on their way are made of, that is a multiple which no right result has;
 * TC_NO_OP: none. */
uint32_t tc_story_odd_behind(struct tc_story *s, uint32_t op);
/* And not summed yet? */
bool tc_story_is_running_part(struct tc_story *s, uint32_t op);

/* ---- forward.c ----------------------------------------------------------------------------- */

/* Of an operator of the backward: the collective whose value its forward reads; TC_NO_OP: none. */
uint32_t tc_story_forward_exchange(const struct tc_plan_program *p,
                                   const struct tc_story_node *nodes, uint32_t op);

/* Of an operator of the backward: the last collective that what its forward made comes to, and of
 * which autograd knows nothing; TC_NO_OP: none. */
uint32_t tc_story_unknown_exchange(const struct tc_story *s, uint32_t op);

/* ---- factor.c ------------------------------------------------------------------------------ */

/* Where a value gets its factor, one after the other: operators whose factor no operand of theirs
 * has. Their number, most at most. */
uint32_t tc_story_factors(struct tc_story *s, uint32_t op, uint32_t *ops, uint32_t most);
/* Of these those that multiply, and that no right result depends on; for a number that all ranks
 * have the operator that made it. */
uint32_t tc_story_factor_steps(struct tc_story *s, uint32_t op, uint32_t *ops, uint32_t most);
/* Of these the one that explains the factor of r; op itself if none does. */
uint32_t tc_story_factor_origin(struct tc_story *s, uint32_t op, const struct tc_related *r);
/* Where another gradient loses the factor of r, or its root; TC_NO_OP: none does. */
uint32_t tc_story_loses_factor(struct tc_story *s, const struct tc_related *r);
/* What the backward begins with, where no right result tells that its factor is right; TC_NO_OP:
 * some does. */
uint32_t tc_story_loss(const struct tc_story *s);
/* Has the value no factor but those that right results have, too? A loss that is multiplied by the
 * ranks, as the gradients are divided by them later. */
bool tc_story_factor_is_trusted(struct tc_story *s, uint32_t op);
/* Does the single job run this operator, too, at its line? */
bool tc_story_is_in_single(const struct tc_story *s, uint32_t op);
/* Of the summands of an operator, which are different multiples, the one whose factor few others
 * have; the operator itself: none. */
uint32_t tc_story_odd_of(struct tc_story *s, uint32_t op);
/* And where it begins. */
uint32_t tc_story_odd_summand(struct tc_story *s, uint32_t op);

/* ---- left_out.c ---------------------------------------------------------------------------- */

/* On one device the value of an operand is added to another one that the job never makes: the first
 * operator of the single job that is missing, and in *user the one that adds. TC_NO_OP: none. */
uint32_t tc_story_left_out(struct tc_story *s, uint32_t op, uint32_t *user);
/* What one device does with a value on its way to a result, if that is the one way: it changes
 * every element alike. TC_NO_OP: none, or another operator than such a one. */
uint32_t tc_story_next_use(struct tc_story *s, tc_sym result, uint32_t value);
/* Does one device add something to the value of this operand before it is used? */
bool tc_story_is_short(struct tc_story *s, uint32_t op, uint32_t dep);

/* Does the optimizer, or what else runs later, sum over ranks what this operator made of the
 * result?
 */
bool tc_story_is_reduced_later(const struct tc_story *s, const struct tc_plan_result *r,
                               uint32_t op);

/* The first collective on what is made of the value of an operator that follows the backward pass;
 * TC_NO_OP: none. */
uint32_t tc_story_later_exchange(const struct tc_story *s, uint32_t op);

/* ---- terms.c ------------------------------------------------------------------------------- */

/* Terms of one line that a sum does not treat alike. */
struct tc_unlike {
    uint32_t term, top; /* one of them; the sum */
    uint32_t axis; /* of the grid, over which only some are summed; UINT32_MAX: factors differ */
    uint32_t at;   /* the operator that sums, or multiplies */
};

/* Is the value the sum of its operands, element by element, on all ranks? */
bool tc_story_is_sum(const struct tc_story *s, uint32_t op);
/* Is it its one operand, summed over an axis of the grid? */
bool tc_story_sums_over(const struct tc_story *s, uint32_t op, unsigned *axis);
/* Of the sum that an operator is a part of. */
bool tc_story_find_unlike(struct tc_story *s, uint32_t op, struct tc_unlike *unlike);
/* A sum of n numbers, all of them right, where one device adds n_single. */
struct tc_lacking {
    uint32_t top, n, n_single;
};

/* Is it the sum that an operator, or its operand, is a part of? */
bool tc_story_lacks_terms(struct tc_story *s, uint32_t op, struct tc_lacking *lacking);

/* ---- idle.c -------------------------------------------------------------------------------- */

/* A message that arrives and is read by nothing. */
struct tc_idle {
    uint32_t receive;
    bool is_passed_on; /* and what the rank sent first is read in its place */
    bool is_replaced;  /* and another value is sent on in its place */
    uint32_t reader;   /* the operator that reads the first, or a message before this one, or that
                          makes the value */
};

/* Among those of the autograd node of an operator, or of the forward; else among all. */
bool tc_story_find_idle(const struct tc_story *s, uint32_t op, struct tc_idle *idle);

/* ---- counted.c --------------------------------------------------------------------------- */

/* What ranks have counted together, as tokens: num / den times the number that one device reads in
 * its place. */
struct tc_counted {
    uint32_t op, reader;
    int64_t num, den;
};

/* Is the value of an operator such a number? */
bool tc_story_is_counted(struct tc_story *s, uint32_t op, struct tc_counted *number);
/* One that explains the factor of r. */
bool tc_story_wrong_count(struct tc_story *s, const struct tc_related *r,
                          struct tc_counted *number);

/* ---- drawing.c ----------------------------------------------------------------------------- */

/* What the operator reads and makes; broken: the operand whose edge breaks, or TC_NO_OP for the
 * edge from the operator to the result. */
struct tc_plan_drawing tc_story_draw(struct tc_story *s, const struct tc_plan_judged *judged,
                                     uint32_t op, uint32_t broken);

/* The operator of the single job that uses the value of an operand, where none like `op` does: what
 * lies between is left out, or is not the same. TC_NO_OP: one does, or nothing uses it. */
uint32_t tc_story_other_use(struct tc_story *s, uint32_t op, uint32_t dep);

/* ---- made.c -------------------------------------------------------------------------------- */

/* What each rank has made where together it is no single-device value: "each rank has a factor of
 * its own: 1/3 times ..." */
void tc_story_tell_made(struct tc_story *s, uint32_t op, struct tc_strbuf *text);

/* ---- tell.c -------------------------------------------------------------------------------- */

/* The value of a result is a single-device value in another relation than it must be. */
struct tc_plan_finding tc_story_tell_related(struct tc_story *s,
                                             const struct tc_plan_judged *judged,
                                             const struct tc_related *r, uint32_t writer);
/* Where the summand of an operator begins whose factor the others do not have; TC_NO_OP: it adds
 * nothing, or equal multiples. */
uint32_t tc_story_odd_operand(struct tc_story *s, uint32_t op);
struct tc_plan_finding tc_story_tell_left_out(struct tc_story *s,
                                              const struct tc_plan_judged *judged, uint32_t op,
                                              uint32_t missing, uint32_t user);
struct tc_plan_finding tc_story_tell_terms(struct tc_story *s, const struct tc_plan_judged *judged,
                                           const struct tc_unlike *unlike);
struct tc_plan_finding tc_story_tell_idle(struct tc_story *s, const struct tc_plan_judged *judged,
                                          const struct tc_idle *idle);
struct tc_plan_finding tc_story_tell_lacking(struct tc_story *s,
                                             const struct tc_plan_judged *judged,
                                             const struct tc_lacking *lacking);
struct tc_plan_finding tc_story_tell_departure(struct tc_story *s,
                                               const struct tc_plan_judged *judged, uint32_t op,
                                               uint32_t partial);

#endif /* TC_PLAN_EXPLAIN_STATE_H */
