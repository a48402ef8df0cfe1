/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.c - arguments and elements for the rules
 *
 * Arguments are read by their number, with a fallback for one that is missing. Tensors are read
 * as elements in row-major order, in the scratch arena, which is reset before each operator. A
 * rule that cannot go on calls tc_eval_fail().
 */
#include "plan/eval.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- arguments ----------------------------------------------------------------------------- */

static const struct tc_plan_value none = {.kind = TC_PLAN_NONE};

const struct tc_plan_value *tc_eval_arg(const struct tc_eval *e, unsigned i)
{
    return i < e->op->n_args ? &e->op->args[i] : &none;
}

bool tc_eval_has(const struct tc_eval *e, unsigned i)
{
    return tc_eval_arg(e, i)->kind != TC_PLAN_NONE;
}

static int64_t to_int(const struct tc_plan_value *v, int64_t fallback)
{
    if (v->kind == TC_PLAN_TRUTH)
        return v->truth;
    if (v->kind == TC_PLAN_NUMBER)
        return (int64_t)v->number;
    return v->kind == TC_PLAN_WHOLE ? v->whole : fallback;
}

int64_t tc_eval_int(const struct tc_eval *e, unsigned i, int64_t fallback)
{
    return to_int(tc_eval_arg(e, i), fallback);
}

double tc_eval_number(const struct tc_eval *e, unsigned i, double fallback)
{
    const struct tc_plan_value *v = tc_eval_arg(e, i);

    if (v->kind == TC_PLAN_NUMBER)
        return v->number;
    return v->kind == TC_PLAN_WHOLE || v->kind == TC_PLAN_TRUTH ? (double)to_int(v, 0) : fallback;
}

bool tc_eval_bool(const struct tc_eval *e, unsigned i, bool fallback)
{
    return to_int(tc_eval_arg(e, i), fallback) != 0;
}

const char *tc_eval_text(const struct tc_eval *e, unsigned i, const char *fallback)
{
    const struct tc_plan_value *v = tc_eval_arg(e, i);

    return v->kind == TC_PLAN_TEXT ? v->text : fallback;
}

const struct tc_plan_tensor *tc_eval_tensor(const struct tc_eval *e, unsigned i)
{
    const struct tc_plan_value *v = tc_eval_arg(e, i);

    return v->kind == TC_PLAN_TENSOR ? v->tensor : NULL;
}

int64_t tc_eval_item(const struct tc_eval *e, unsigned i, size_t item, int64_t fallback)
{
    const struct tc_plan_value *v = tc_eval_arg(e, i);

    if (v->kind != TC_PLAN_LIST)
        return to_int(v, fallback);
    if (v->n == 0)
        return fallback;
    return to_int(&v->items[item < v->n ? item : v->n - 1], fallback);
}

/* ---- elements ------------------------------------------------------------------------------ */

tc_el *tc_eval_new(struct tc_eval *e, size_t n)
{
    return tc_arena_alloc(e->scratch, (n ? n : 1) * sizeof(tc_el));
}

const tc_el *tc_eval_read(struct tc_eval *e, const struct tc_plan_tensor *t)
{
    if (t->is_contiguous)
        return e->storages[t->storage] + t->offset;
    return tc_eval_take(e, t);
}

const tc_el *tc_eval_in(struct tc_eval *e, unsigned i)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, i);

    return t ? tc_eval_read(e, t) : NULL;
}

tc_el *tc_eval_take(struct tc_eval *e, const struct tc_plan_tensor *t)
{
    tc_el *to = tc_eval_new(e, (size_t)t->numel);

    tc_view_gather(e->storages[t->storage], t, to);
    return to;
}

tc_el *tc_eval_permuted(struct tc_eval *e, const struct tc_plan_tensor *t, const unsigned *order)
{
    int64_t sizes[TC_PLAN_MAX_DIMS], strides[TC_PLAN_MAX_DIMS];
    tc_el *to = tc_eval_new(e, (size_t)t->numel);

    for (unsigned d = 0; d < t->n_dims; d++) {
        sizes[d] = t->sizes[order[d]];
        strides[d] = t->strides[order[d]];
    }
    tc_view_gather_strided(e->storages[t->storage] + t->offset, t->n_dims, sizes, strides, to);
    return to;
}

static bool same_sizes(const struct tc_plan_tensor *a, const struct tc_plan_tensor *b)
{
    return a->n_dims == b->n_dims && !memcmp(a->sizes, b->sizes, a->n_dims * sizeof(*a->sizes));
}

struct tc_operand tc_eval_broadcast(struct tc_eval *e, const struct tc_plan_tensor *t,
                                    const struct tc_plan_tensor *over)
{
    int64_t strides[TC_PLAN_MAX_DIMS];

    if (t->numel == 1)
        return (struct tc_operand){e->storages[t->storage] + t->offset, 0};
    if (same_sizes(t, over))
        return (struct tc_operand){tc_eval_read(e, t), 1};
    for (unsigned d = 0; d < over->n_dims; d++) {
        unsigned skipped = over->n_dims - t->n_dims;
        bool is_new = t->n_dims > over->n_dims || d < skipped;
        int64_t size = is_new ? 1 : t->sizes[d - skipped];
        strides[d] = is_new || size == 1 ? 0 : t->strides[d - skipped];
        if (size != 1 && size != over->sizes[d])
            tc_eval_fail(e, "sizes that do not broadcast");
    }
    tc_el *to = tc_eval_new(e, (size_t)over->numel);
    if (!*e->failure)
        tc_view_gather_strided(e->storages[t->storage] + t->offset, over->n_dims, over->sizes,
                               strides, to);
    return (struct tc_operand){to, 1};
}

struct tc_operand tc_eval_constant(struct tc_eval *e, double number)
{
    tc_el *p = tc_eval_new(e, 1);

    *p = tc_el_number(number, false);
    return (struct tc_operand){p, 0};
}

struct tc_operand tc_eval_operand(struct tc_eval *e, unsigned i, const struct tc_plan_tensor *over)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, i);

    return t ? tc_eval_broadcast(e, t, over) : tc_eval_constant(e, tc_eval_number(e, i, 0));
}

tc_el tc_eval_scalar(struct tc_eval *e, unsigned i, double fallback)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, i);

    if (t)
        return e->storages[t->storage][t->offset];
    if (tc_eval_arg(e, i)->kind == TC_PLAN_WHOLE)
        return tc_el_int(tc_eval_int(e, i, 0));
    return tc_el_number(tc_eval_number(e, i, fallback), false);
}

/* ---- results ------------------------------------------------------------------------------- */

const struct tc_plan_tensor *tc_eval_out(const struct tc_eval *e, unsigned k)
{
    return k < e->op->n_outs ? e->op->outs[k] : NULL;
}

tc_el *tc_eval_zeros(struct tc_eval *e, size_t n)
{
    tc_el *p = tc_eval_new(e, n);

    for (size_t i = 0; i < n; i++)
        p[i] = TC_EL_ZERO;
    return p;
}

void tc_eval_write_tensor(struct tc_eval *e, const struct tc_plan_tensor *t, const tc_el *from)
{
    tc_view_scatter(e->storages[t->storage], t, from);
}

void tc_eval_write(struct tc_eval *e, unsigned k, const tc_el *from, size_t n)
{
    const struct tc_plan_tensor *t = tc_eval_out(e, k);

    if (!t || *e->failure)
        return;
    if ((size_t)t->numel != n)
        tc_eval_fail(e, "output %u has %lld elements in the plan, but %zu by the rule", k,
                     (long long)t->numel, n);
    else
        tc_eval_write_tensor(e, t, from);
}

void tc_eval_fail(struct tc_eval *e, const char *fmt, ...)
{
    va_list args;

    if (*e->failure)
        return;
    va_start(args, fmt);
    if (vsnprintf(e->failure, sizeof(e->failure), fmt, args) < 0)
        e->failure[0] = '?';
    va_end(args);
}

struct tc_function tc_eval_function(const struct tc_eval *e, enum tc_fn fn, int variant, double a,
                                    double b)
{
    return tc_function_make(e->seed, fn, variant, a, b);
}

/* ---- shapes -------------------------------------------------------------------------------- */

unsigned tc_eval_dim(int64_t d, unsigned n)
{
    d = d < 0 ? d + (int64_t)n : d;
    return d < 0 || d >= (int64_t)n ? 0 : (unsigned)d;
}

size_t tc_eval_span(const struct tc_plan_tensor *t, unsigned from, unsigned to)
{
    size_t n = 1;

    for (unsigned d = from; d < to && d < t->n_dims; d++)
        n *= (size_t)t->sizes[d];
    return n;
}

uint32_t tc_eval_dims(const struct tc_eval *e, unsigned i, const struct tc_plan_tensor *t)
{
    const struct tc_plan_value *v = tc_eval_arg(e, i);
    uint32_t mask = 0;

    if (v->kind == TC_PLAN_LIST)
        for (uint32_t k = 0; k < v->n; k++)
            mask |= 1u << tc_eval_dim(to_int(&v->items[k], 0), t->n_dims);
    else if (v->kind == TC_PLAN_WHOLE)
        mask = 1u << tc_eval_dim(v->whole, t->n_dims);
    return mask ? mask : (1u << t->n_dims) - 1;
}

struct tc_eval_extent tc_eval_rows(struct tc_eval *e, const struct tc_plan_tensor *t, uint32_t mask)
{
    struct tc_eval_extent rows = {.outer = 1, .n = 1};
    unsigned order[TC_PLAN_MAX_DIMS], n = 0;

    for (int inner = 0; inner < 2; inner++)
        for (unsigned d = 0; d < t->n_dims; d++)
            if ((mask >> d & 1) == (unsigned)inner) {
                order[n++] = d;
                *(inner ? &rows.n : &rows.outer) *= (size_t)t->sizes[d];
            }
    rows.p = tc_eval_permuted(e, t, order);
    return rows;
}
