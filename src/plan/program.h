/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - plans as they are in memory: what each rank runs, with places for its storages
 *
 * A program is what one captured rank runs. Retargeted ranks share the program of the rank they are
 * like and differ in their groups and places. All of it lives in the arena of the plan set.
 */
#ifndef TC_PLAN_PROGRAM_H
#define TC_PLAN_PROGRAM_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "plan/element.h"
#include <traincheck/error.h>
#include <traincheck/value.h>

#define TC_PLAN_SCHEMA    1
#define TC_PLAN_MAX_DIMS  16
#define TC_PLAN_MAX_WORLD (1 << 20)

enum tc_plan_type {
    TC_PLAN_FLOAT,
    TC_PLAN_SINGLE, /* float32 and less: constants have its precision */
    TC_PLAN_INT,
    TC_PLAN_BOOL
};

/* A view of a storage. */
struct tc_plan_tensor {
    uint32_t storage, n_dims;
    int64_t offset, numel;
    const int64_t *sizes, *strides;
    enum tc_plan_type type;
    bool is_contiguous;
    bool is_in_slot; /* storage is the number of a slot */
};

enum tc_plan_kind {
    TC_PLAN_NONE, /* null, or not given */
    TC_PLAN_TRUTH,
    TC_PLAN_WHOLE,
    TC_PLAN_NUMBER,
    TC_PLAN_TEXT,
    TC_PLAN_TENSOR,
    TC_PLAN_LIST,
    TC_PLAN_GROUP,
};

/* An argument of an operator. */
struct tc_plan_value {
    enum tc_plan_kind kind;
    uint32_t n; /* bytes, elements */
    union {
        bool truth;
        int64_t whole;
        double number;
        const char *text; /* terminated */
        const struct tc_plan_tensor *tensor;
        const struct tc_plan_value *items;
        uint32_t group; /* of the program's groups */
    };
};

struct tc_plan_argument {
    struct tc_str name;
    struct tc_plan_value value;
};

struct tc_rule;

#define TC_PLAN_CALLED_FROM ", from "
#define TC_PLAN_BACKWARD_OF ", in the backward of " /* before the line that applied it */

struct tc_plan_op {
    const char *name; /* "aten.add.Tensor" */
    const struct tc_rule *rule;
    const struct tc_plan_value *args;          /* by the rule's names */
    const struct tc_plan_tensor *const *outs;  /* NULL: not given */
    const struct tc_plan_tensor *const *reads; /* all tensors among its arguments */
    uint32_t n_outs, n_reads, n_args;
    const char *src, *node, *mod; /* "" if unknown */
    const char *via;  /* lines that called that of src, ", from " between them; "". The line that
                         applied a function of autograd whose backward it is, after BACKWARD_OF */
    const char *made; /* lines that made the constants and views that it reads, if others; "" */
    uint64_t line;    /* of the plan file */
    int64_t rng[2];
    uint64_t attributes; /* of one without a rule: hash of its arguments but for elements */
    bool draws, has_value;
    double value;  /* that Python read of its tensor, while the plan was captured */
    uint32_t part; /* of a list operator that was taken apart: which */
};

/* A block of a tensor, and where it lies in the single-device tensor. */
struct tc_plan_piece {
    const int64_t *local, *sizes, *at;
};

struct tc_plan_place {
    const int64_t *global;
    uint32_t n_global, n_pieces;
    const struct tc_plan_piece *pieces;
    int64_t flat; /* -1: in pieces */
};

enum tc_plan_init_kind {
    TC_PLAN_PARAM,
    TC_PLAN_BUFFER,
    TC_PLAN_INPUT,
    TC_PLAN_STATE
};

struct tc_plan_init {
    enum tc_plan_init_kind kind;
    tc_sym name;
    struct tc_plan_tensor tensor;
    struct tc_plan_place place;
    const tc_el *data; /* NULL: drawn */
    uint64_t line;
};

struct tc_plan_const {
    uint32_t storage;
    int64_t n;
    const tc_el *data;
    bool is_fill; /* data is one element for all */
};

struct tc_plan_result {
    tc_sym name;
    struct tc_plan_tensor tensor;
    struct tc_plan_place place;
    const tc_sym *partial; /* names of axes */
    uint32_t n_partial;
    uint64_t line;
};

/* Ranks in the order of the group; equal groups are one. */
struct tc_plan_group {
    const uint32_t *ranks;
    uint32_t n;
};

/* A named group of a rank. */
struct tc_plan_axis {
    tc_sym name;
    uint32_t group; /* of the set's groups */
    bool is_joined; /* it joins other axes */
};

typedef TC_VEC(struct tc_plan_op) tc_plan_ops;
typedef TC_VEC(struct tc_plan_init) tc_plan_inits;
typedef TC_VEC(struct tc_plan_const) tc_plan_consts;
typedef TC_VEC(struct tc_plan_result) tc_plan_results;

#define TC_PLAN_NO_SLOT UINT32_MAX

struct tc_plan_storage {
    int64_t n;            /* elements: as far as any view reaches */
    uint32_t first, last; /* operators that touch it, TC_PLAN_BEFORE and TC_PLAN_AFTER among them */
    uint32_t slot;        /* its place while it lives; TC_PLAN_NO_SLOT: nothing touches it */
};

/* A slot that an operator needs first, with room for n elements. */
struct tc_plan_alloc {
    uint32_t slot, op;
    int64_t n;
    bool is_written; /* wholly, by the operator: needs no clearing */
};

/* A slot that holds nothing any more after an operator. */
struct tc_plan_free {
    uint32_t slot, op;
};

struct tc_plan_program {
    tc_plan_ops ops;
    TC_VEC(struct tc_plan_storage) storages;
    TC_VEC(struct tc_plan_alloc) allocs; /* in the order of their operators, as frees are */
    TC_VEC(struct tc_plan_free) frees;
    uint32_t n_slots;
    TC_VEC(uint32_t) groups; /* numbers of the set's groups */
    uint64_t signature;      /* equal for programs of equal operators */
};

struct tc_plan_rank {
    const char *file; /* without its folder; NULL: no plan for this rank */
    uint64_t line;    /* of its head */
    uint32_t rank;
    int64_t like; /* -1: captured */
    struct tc_plan_program *program;
    bool owns_program, borrows_inits, borrows_consts, borrows_results; /* of the rank it is like */
    TC_VEC(struct tc_plan_axis) mesh;
    tc_plan_inits inits;
    tc_plan_consts consts;
    tc_plan_results results;
    const uint32_t *groups; /* numbers of the set's groups, by those of the program */
    const char *script;
    const char *unsummed; /* why a wrapper sums no gradients; "" if unknown */
};

#define TC_PLAN_NO_RANK UINT32_MAX

/* Ranks that compute the same as another one; all arrays have an element for each rank. */
struct tc_plan_copies {
    uint32_t *of;       /* the one that stands for it, itself if it is no copy */
    uint32_t *next;     /* after a rank its first copy, after that the next one; or NO_RANK */
    uint32_t *distinct; /* those that are no copies, n_distinct of them */
    uint32_t n_distinct;
};

struct tc_plan_set {
    const char *folder; /* borrowed */
    uint32_t world;
    struct tc_plan_rank *ranks; /* world of them */
    TC_VEC(struct tc_plan_group) groups;
    struct tc_strtab *group_ids; /* lists of ranks */
    struct tc_strtab *names;     /* of tensors and axes; shared between the two sets compared */
    struct tc_strtab *texts;     /* lines of scripts, names of operators */
    struct tc_map rules;         /* of the operators met, by the address of their name */
    struct tc_arena arena, line; /* line: what lives as long as the line being read */
    TC_VEC(const char *) notes;
    uint32_t n_retargeted;
    struct tc_plan_copies copies; /* once all is read */
    uint64_t n_ops;               /* of all ranks */
};

/* names is borrowed and outlives the set. Errors name file, line and field. */
enum tc_status tc_plan_read(struct tc_plan_set *set, const char *folder, struct tc_strtab *names,
                            struct tc_error *err);
void tc_plan_release(struct tc_plan_set *set);

void tc_plan_init(struct tc_plan_set *set, const char *folder, struct tc_strtab *names);
/* One line of a file, added to the set; *rank is NULL at the start of a file, and then what the
 * last head began. */
enum tc_status tc_plan_read_line(struct tc_plan_set *set, const char *file,
                                 struct tc_plan_rank **rank, const char *line, size_t size,
                                 uint64_t number, struct tc_error *err);

/* The number of the group of these ranks, which is added if new. */
uint32_t tc_plan_group(struct tc_plan_set *set, const uint32_t *ranks, uint32_t n);
/* The rank that a send or receive is about; of a retargeted rank the one that plays that part for
 * it. -1: none. */
int64_t tc_plan_peer(const struct tc_plan_set *set, const struct tc_plan_rank *rank,
                     const struct tc_plan_op *op);
/* ", called at train.py:51", if its line is called elsewhere, too, or on one device from elsewhere;
 * ", in the backward of train.py:51". */
void tc_plan_add_callers(const struct tc_plan_program *p, const struct tc_plan_program *single,
                         const struct tc_plan_op *op, struct tc_strbuf *out);
/* What the rank has of that name when the step begins; NULL: nothing. */
const struct tc_plan_init *tc_plan_init_of(const struct tc_plan_rank *rank, tc_sym name);
/* Does the operator read or write what lies in the storage? */
bool tc_plan_reads(const struct tc_plan_op *op, uint32_t storage);
bool tc_plan_writes(const struct tc_plan_op *op, uint32_t storage);
/* The first operator that does; NULL: none. */
const struct tc_plan_op *tc_plan_first_reader(const struct tc_plan_program *p, uint32_t storage);
const struct tc_plan_op *tc_plan_first_writer(const struct tc_plan_program *p, uint32_t storage);
/* The first operator after this one that reads what lies in the storage; the number of operators:
 * none. */
size_t tc_plan_next_reader(const struct tc_plan_program *p, size_t op, uint32_t storage);
/* The first one on another line that reads an output, or what the line makes of it. */
size_t tc_plan_next_line(const struct tc_plan_program *p, size_t op, uint32_t out);
/* The place of a rank in a group, or -1. */
int64_t tc_plan_group_index(const struct tc_plan_group *group, uint32_t rank);

/*
 * Once all lines of a captured rank are read: storages that do not live at the same time share a
 * slot, so that a rank that waits holds little. From then on the storage of a tensor is its slot.
 */
void tc_plan_put_in_slots(struct tc_plan_rank *rank);
/* Give retargeted ranks the program of the rank they are like. */
enum tc_status tc_plan_retarget(struct tc_plan_set *set, struct tc_error *err);

#endif /* TC_PLAN_PROGRAM_H */
