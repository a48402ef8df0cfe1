/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.h - what the rule of an operator works with: arguments in, elements out
 */
#ifndef TC_PLAN_EVAL_H
#define TC_PLAN_EVAL_H

#include "plan/rules.h"

/* The storages of one rank while it runs. */
struct tc_eval {
    const struct tc_plan_op *op;
    tc_el *const *storages;
    struct tc_arena *scratch; /* reset before each operator */
    uint64_t seed;
    char failure[160]; /* what the rule cannot do; "" if all is well */
};

/* ---- arguments, by their number in the rule ------------------------------------------------ */

const struct tc_plan_value *tc_eval_arg(const struct tc_eval *e, unsigned i);
bool tc_eval_has(const struct tc_eval *e, unsigned i);
int64_t tc_eval_int(const struct tc_eval *e, unsigned i, int64_t fallback);
double tc_eval_number(const struct tc_eval *e, unsigned i, double fallback);
bool tc_eval_bool(const struct tc_eval *e, unsigned i, bool fallback);
const char *tc_eval_text(const struct tc_eval *e, unsigned i, const char *fallback);
/* NULL if the argument is none. */
const struct tc_plan_tensor *tc_eval_tensor(const struct tc_eval *e, unsigned i);
/* The number i of a list of integers, which may be one integer for all. */
int64_t tc_eval_item(const struct tc_eval *e, unsigned i, size_t item, int64_t fallback);

/* ---- elements ------------------------------------------------------------------------------ */

/* Elements in row-major order; read-only, as they may be the storage itself. */
const tc_el *tc_eval_read(struct tc_eval *e, const struct tc_plan_tensor *t);
/* The argument i, NULL if it is none. */
const tc_el *tc_eval_in(struct tc_eval *e, unsigned i);
/* The same, but a copy that may be changed. */
tc_el *tc_eval_take(struct tc_eval *e, const struct tc_plan_tensor *t);
/* Elements with the dimensions in the order given. */
tc_el *tc_eval_permuted(struct tc_eval *e, const struct tc_plan_tensor *t, const unsigned *order);

/* A tensor or number as it is broadcast over the sizes of an output: element i is p[i * step]. */
struct tc_operand {
    const tc_el *p;
    size_t step;
};

struct tc_operand tc_eval_operand(struct tc_eval *e, unsigned i, const struct tc_plan_tensor *over);
struct tc_operand tc_eval_constant(struct tc_eval *e, double number);
struct tc_operand tc_eval_broadcast(struct tc_eval *e, const struct tc_plan_tensor *t,
                                    const struct tc_plan_tensor *over);

/* An element as the number of a row, place or class; -1 where it is unknown. */
static inline int64_t tc_eval_index(tc_el element)
{
    return tc_el_is_marked(element) ? -1 : tc_el_to_int(element);
}

/* A number given as an argument: also a tensor of one element. */
tc_el tc_eval_scalar(struct tc_eval *e, unsigned i, double fallback);

/* ---- results ------------------------------------------------------------------------------- */

/* The output k: NULL if it is not wanted. */
const struct tc_plan_tensor *tc_eval_out(const struct tc_eval *e, unsigned k);
/* Elements that will be the output k, in row-major order; tc_eval_write puts them there. */
tc_el *tc_eval_new(struct tc_eval *e, size_t n);
tc_el *tc_eval_zeros(struct tc_eval *e, size_t n);
/* n must be the number of elements of the output; it is dropped if the output is not wanted. */
void tc_eval_write(struct tc_eval *e, unsigned k, const tc_el *from, size_t n);
void tc_eval_write_tensor(struct tc_eval *e, const struct tc_plan_tensor *t, const tc_el *from);
/* The rule cannot do this. */
TC_PRINTF(2, 3)
void tc_eval_fail(struct tc_eval *e, const char *fmt, ...);

struct tc_function tc_eval_function(const struct tc_eval *e, enum tc_fn fn, int variant, double a,
                                    double b);

/* ---- shapes -------------------------------------------------------------------------------- */

/* Dimension d as 0 to n - 1. */
unsigned tc_eval_dim(int64_t d, unsigned n);
/* Product of sizes [from, to). */
size_t tc_eval_span(const struct tc_plan_tensor *t, unsigned from, unsigned to);

/* Elements as [outer][rows], dimensions of the mask in rows. */
struct tc_eval_extent {
    tc_el *p;
    size_t outer, n;
};

struct tc_eval_extent tc_eval_rows(struct tc_eval *e, const struct tc_plan_tensor *t,
                                   uint32_t mask);
/* The dimensions named by an argument: all if it is none or empty. */
uint32_t tc_eval_dims(const struct tc_eval *e, unsigned i, const struct tc_plan_tensor *t);

/* Copies between a view and row-major order. */
void tc_view_gather(const tc_el *storage, const struct tc_plan_tensor *t, tc_el *to);
void tc_view_scatter(tc_el *storage, const struct tc_plan_tensor *t, const tc_el *from);
void tc_view_gather_strided(const tc_el *from, unsigned n_dims, const int64_t *sizes,
                            const int64_t *strides, tc_el *to);

#endif /* TC_PLAN_EVAL_H */
