/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relate.h - how values of ranks relate to values of the single-device job
 *
 * The values that an operator gives on all ranks of a family are put together along each axis of
 * the mesh - as equal copies, as summands, as slices - and looked up among all values of the single
 * job, up to a rational factor.
 */
#ifndef TC_PLAN_RELATE_H
#define TC_PLAN_RELATE_H

#include "base/strbuf.h"
#include "plan/world.h"

/* ---- values of the single job -------------------------------------------------------------- */

struct tc_known {
    uint32_t op; /* UINT32_MAX: what the step starts from */
    tc_el scale; /* its first element that is not 0 */
    struct tc_known *next;
};

/* The elements of a value, for what is a part of it. */
struct tc_known_value {
    const char *name; /* of the operator */
    uint32_t op;
    const tc_el *p;
    size_t n;
    unsigned n_dims;
    bool has_pairs; /* neighbours that differ */
};

struct tc_index {
    struct tc_map known;   /* hash of the elements divided by the first -> struct tc_known */
    struct tc_map samples; /* the same hash of a few elements, of all that are known */
    struct tc_map pairs;   /* ratio of two neighbours -> where they are */
    TC_VEC(struct tc_known_value) values;
    size_t n_elements;
    struct tc_arena arena;
};

/* The operator that made this value first. name: of the operator, "" if it is none. */
uint32_t tc_index_add(struct tc_index *index, const tc_el *p, const struct tc_plan_tensor *t,
                      const char *name, uint32_t op);
void tc_index_release(struct tc_index *index);

/* ---- relations ----------------------------------------------------------------------------- */

#define TC_RELATE_MAX_AXES 6

enum tc_placement_kind {
    TC_REPLICATE,
    TC_PARTIAL,
    TC_SHARD,
    TC_STRIDED,  /* slices of each of `split` blocks */
    TC_REVERSED, /* slices in reverse order */
    TC_PIECES    /* elements that are no slice, in order */
};

struct tc_placement {
    enum tc_placement_kind kind;
    unsigned dim, split;
};

struct tc_related {
    bool is_found;
    bool is_zero;   /* all values are 0 */
    bool is_exact;  /* some single value has the factor 1 */
    bool is_part;   /* the ranks have some of its elements: one of several micro-batches */
    bool is_mixed;  /* not in its order */
    bool is_joined; /* runs of elements of several values: a flat buffer; op is that of the first */
    struct tc_placement axes[TC_RELATE_MAX_AXES];
    int64_t num, den; /* times num / den */
    uint32_t op;      /* of the single job */
    uint32_t value;   /* of the index, if is_part or is_mixed */
    size_t n;         /* elements that the ranks have, copies counted once; if is_part */
};

/* Ranks as a grid, the last axis fastest. */
struct tc_grid {
    unsigned n_axes;
    const char *names[TC_RELATE_MAX_AXES];
    uint32_t sizes[TC_RELATE_MAX_AXES];
    uint32_t n; /* their product */
};

/* A value of a rank, or of several put together. */
struct tc_block {
    const tc_el *p;
    unsigned n_dims;
    int64_t sizes[TC_PLAN_MAX_DIMS];
    size_t n;
};

/* The part of one rank. */
struct tc_part {
    const tc_el *p;
    const struct tc_plan_tensor *t; /* its sizes */
};

/* What the operator, or a result if it is NULL, has on all ranks. */
struct tc_related tc_relate(struct tc_index *index, const struct tc_grid *grid,
                            const struct tc_part *parts, const struct tc_plan_op *op);
/* The same where the values are no slices: by their elements. */
bool tc_relate_pieces(struct tc_index *index, const struct tc_grid *grid,
                      const struct tc_block *blocks, const char *name, struct tc_related *found);
void tc_pieces_add(struct tc_index *index, const tc_el *p, const struct tc_plan_tensor *t,
                   const char *name, uint32_t op);
/* A field element as a small ratio. */
bool tc_relate_ratio(tc_el v, int64_t *num, int64_t *den);
/* "Shard(0) over dp, Partial(sum) over tp, times 1/2"; "Replicate" */
void tc_relate_describe(const struct tc_related *r, const struct tc_grid *grid,
                        struct tc_strbuf *out);
bool tc_relate_is_partial(const struct tc_related *r, const struct tc_grid *grid);

#endif /* TC_PLAN_RELATE_H */
