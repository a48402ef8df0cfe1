/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_copy.c - operators that move elements: copies, joins, padding, triangles, fills
 *
 * Elements move and are not computed with. A cast is the identity, as precision is out of scope.
 */
#include "plan/eval.h"

#include <string.h>

/* clone, _to_copy, copy_: casts are the identity, precision is out of scope. */
static void run_copy(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    unsigned from = e->op->rule->variant ? 1 : 0;

    if (!tc_eval_tensor(e, from)) {
        tc_eval_fail(e, "no tensor to copy");
        return;
    }
    struct tc_operand x = tc_eval_operand(e, from, out);
    size_t n = (size_t)out->numel;
    if (*e->failure)
        return;
    if (x.step) {
        tc_eval_write(e, 0, x.p, n);
        return;
    }
    tc_el *to = tc_eval_new(e, n);
    for (size_t i = 0; i < n; i++)
        to[i] = *x.p;
    tc_eval_write(e, 0, to, n);
}

/* A copy in row-major order whatever the output's sizes: _unsafe_view, reshape. */
static void run_reshape(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);

    if (t)
        tc_eval_write(e, 0, tc_eval_take(e, t), (size_t)t->numel);
}

static const struct tc_plan_tensor *list_item(const struct tc_plan_value *list, uint32_t i)
{
    return list->items[i].kind == TC_PLAN_TENSOR ? list->items[i].tensor : NULL;
}

/* Legacy: empty one-dimensional tensors have no part in it. */
static void run_cat(struct tc_eval *e)
{
    const struct tc_plan_value *list = tc_eval_arg(e, 0);
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    bool is_stack = e->op->rule->variant;
    unsigned dim = tc_eval_dim(tc_eval_int(e, 1, 0), out->n_dims);
    size_t outer = tc_eval_span(out, 0, dim), whole = tc_eval_span(out, dim, out->n_dims), at = 0;
    tc_el *to = tc_eval_new(e, (size_t)out->numel);

    if (list->kind != TC_PLAN_LIST) {
        tc_eval_fail(e, "tensors is no list");
        return;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        const struct tc_plan_tensor *t = list_item(list, i);
        if (!t || t->numel == 0)
            continue;
        size_t part = (size_t)t->numel / (outer ? outer : 1);
        const tc_el *from = tc_eval_read(e, t);
        if (at + part > whole || t->n_dims + is_stack != out->n_dims) {
            tc_eval_fail(e, "sizes that do not join");
            return;
        }
        for (size_t o = 0; o < outer; o++)
            memcpy(to + o * whole + at, from + o * part, part * sizeof(*to));
        at += part;
    }
    if (at != whole && out->numel)
        tc_eval_fail(e, "sizes that do not join");
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* split_with_sizes_copy, unbind_copy: consecutive stretches of a dimension become the outputs. */
static void run_split(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);

    if (!t)
        return;
    unsigned dim = tc_eval_dim(tc_eval_int(e, 1, 0), t->n_dims);
    size_t outer = tc_eval_span(t, 0, dim), whole = tc_eval_span(t, dim, t->n_dims), at = 0;
    const tc_el *from = tc_eval_read(e, t);

    for (uint32_t k = 0; k < e->op->n_outs; k++) {
        const struct tc_plan_tensor *out = tc_eval_out(e, k);
        if (!out)
            continue;
        size_t part = (size_t)out->numel / (outer ? outer : 1);
        if (at + part > whole) {
            tc_eval_fail(e, "parts are larger than the whole");
            return;
        }
        tc_el *to = tc_eval_new(e, (size_t)out->numel);
        for (size_t o = 0; o < outer; o++)
            memcpy(to + o * part, from + o * whole + at, part * sizeof(*to));
        tc_eval_write(e, k, to, (size_t)out->numel);
        at += part;
    }
}

static void run_repeat(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    tc_el *to = tc_eval_new(e, (size_t)out->numel);
    int64_t index[TC_PLAN_MAX_DIMS] = {0};
    unsigned added = out->n_dims - t->n_dims;

    if (t->n_dims > out->n_dims || (t->numel == 0 && out->numel))
        tc_eval_fail(e, "sizes that do not repeat");
    for (int64_t i = 0; i < out->numel && !*e->failure; i++) {
        int64_t at = t->offset;
        for (unsigned d = 0; d < t->n_dims; d++)
            at += index[d + added] % t->sizes[d] * t->strides[d];
        to[i] = e->storages[t->storage][at];
        for (unsigned d = out->n_dims; d-- > 0 && ++index[d] == out->sizes[d];)
            index[d] = 0;
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* pad counts from the last dimension: (left, right) of each. */
static void run_pad(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    tc_el *to = tc_eval_new(e, (size_t)out->numel), value = tc_eval_scalar(e, 2, 0);
    int64_t index[TC_PLAN_MAX_DIMS] = {0};
    unsigned n = out->n_dims;

    if (t->n_dims != n)
        tc_eval_fail(e, "sizes that do not pad");
    for (int64_t i = 0; i < out->numel && !*e->failure; i++) {
        int64_t at = t->offset;
        bool is_inside = true;
        for (unsigned d = 0; d < n; d++) {
            size_t pair = 2 * (size_t)(n - 1 - d);
            int64_t left = pair < tc_eval_arg(e, 1)->n ? tc_eval_item(e, 1, pair, 0) : 0;
            int64_t x = index[d] - left;
            is_inside = is_inside && x >= 0 && x < t->sizes[d];
            at += x * t->strides[d];
        }
        to[i] = is_inside ? e->storages[t->storage][at] : value;
        for (unsigned d = n; d-- > 0 && ++index[d] == out->sizes[d];)
            index[d] = 0;
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* flip: variant 0, roll: variant 1. */
static void run_turn(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    bool is_roll = e->op->rule->variant;
    uint32_t mask = tc_eval_dims(e, is_roll ? 2 : 1, t);
    tc_el *to = tc_eval_new(e, (size_t)t->numel);
    int64_t index[TC_PLAN_MAX_DIMS] = {0};

    if (out->numel != t->numel || (is_roll && tc_eval_arg(e, 2)->n == 0))
        tc_eval_fail(e, "only with dims");
    for (int64_t i = 0; i < t->numel && !*e->failure; i++) {
        int64_t at = t->offset;
        for (unsigned d = 0; d < t->n_dims; d++) {
            int64_t x = index[d], size = t->sizes[d];
            if (!is_roll && mask >> d & 1)
                x = size - 1 - x;
            for (uint32_t k = 0; is_roll && k < tc_eval_arg(e, 2)->n; k++)
                if (tc_eval_dim(tc_eval_item(e, 2, k, 0), t->n_dims) == d)
                    x = ((x - tc_eval_item(e, 1, k, 0)) % size + size) % size;
            at += x * t->strides[d];
        }
        to[i] = e->storages[t->storage][at];
        for (unsigned d = t->n_dims; d-- > 0 && ++index[d] == t->sizes[d];)
            index[d] = 0;
    }
    tc_eval_write(e, 0, to, (size_t)t->numel);
}

/* triu: variant 1, tril: variant -1. */
static void run_triangle(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    int64_t diagonal = tc_eval_int(e, 1, 0);

    if (!t || t->n_dims < 2) {
        tc_eval_fail(e, "no matrix");
        return;
    }
    tc_el *to = tc_eval_take(e, t);
    int64_t rows = t->sizes[t->n_dims - 2], columns = t->sizes[t->n_dims - 1];
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t above = i % columns - i / columns % rows - diagonal;
        if (e->op->rule->variant > 0 ? above < 0 : above > 0)
            to[i] = TC_EL_ZERO;
    }
    tc_eval_write(e, 0, to, (size_t)t->numel);
}

/* ---- fills --------------------------------------------------------------------------------- */

static void fill(struct tc_eval *e, uint32_t k, tc_el value)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, k);

    if (!out)
        return;
    tc_el *to = tc_eval_new(e, (size_t)out->numel);
    for (int64_t i = 0; i < out->numel; i++)
        to[i] = value;
    tc_eval_write(e, k, to, (size_t)out->numel);
}

static void run_fill(struct tc_eval *e)
{
    fill(e, 0,
         e->op->rule->variant < 2 ? tc_el_int(e->op->rule->variant) : tc_eval_scalar(e, 0, 0));
}

static void run_arange(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    tc_el *to = tc_eval_new(e, (size_t)out->numel);
    tc_el start = tc_eval_scalar(e, 0, 0), step = tc_eval_scalar(e, 1, 1);

    for (int64_t i = 0; i < out->numel; i++)
        to[i] = tc_el_add(start, tc_el_mul(tc_el_int(i), step));
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

static void run_eye(struct tc_eval *e)
{
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    tc_el *to = tc_eval_new(e, (size_t)out->numel);

    for (int64_t i = 0; i < out->numel && out->n_dims == 2; i++)
        to[i] = i / out->sizes[1] == i % out->sizes[1] ? TC_EL_ONE : TC_EL_ZERO;
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* The gradient of a slice: zeros with the gradient in their midst. */
static void run_slice_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    bool is_select = e->op->rule->variant;
    unsigned dim = tc_eval_dim(tc_eval_int(e, 1, 0), out->n_dims);
    int64_t start = tc_eval_int(e, 2, 0), step = is_select ? 1 : tc_eval_int(e, 3, 1);
    int64_t size = out->n_dims ? out->sizes[dim] : 1, count = is_select ? 1 : g->sizes[dim];
    size_t outer = tc_eval_span(out, 0, dim), inner = tc_eval_span(out, dim + 1, out->n_dims);
    const tc_el *from = tc_eval_read(e, g);
    tc_el *to = tc_eval_new(e, (size_t)out->numel);

    start = start < 0 ? start + size : start;
    if (start < 0 || (count && start + (count - 1) * step >= size) ||
        (size_t)g->numel != outer * inner * (size_t)count) {
        tc_eval_fail(e, "a slice outside its tensor");
        return;
    }
    for (int64_t i = 0; i < out->numel; i++)
        to[i] = TC_EL_ZERO;
    for (size_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < count; k++)
            memcpy(to + (o * (size_t)size + (size_t)(start + k * step)) * inner,
                   from + (o * (size_t)count + (size_t)k) * inner, inner * sizeof(*to));
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

#define COPY(op)                                                \
    {                                                           \
        op, "self|input|a", run_copy, TC_RULE_ELEMENTWISE, 0, 0 \
    }
#define FILL(op, value)                                       \
    {                                                         \
        "aten." op, "self", run_fill, TC_RULE_PLAIN, value, 0 \
    }
#define RESHAPE(op)                                          \
    {                                                        \
        "aten." op, "self", run_reshape, TC_RULE_PLAIN, 0, 0 \
    }

const struct tc_rule tc_rules_copy[] = {
    COPY("aten.clone"),
    COPY("aten.contiguous"),
    COPY("aten._to_copy"),
    COPY("aten.to"),
    COPY("aten.expand_copy"),
    COPY("aten.lift_fresh_copy"),
    COPY("aten.alias_copy"),
    COPY("prims.convert_element_type"),
    {"aten.copy",                  "self src", run_copy, TC_RULE_ELEMENTWISE, 1, 0},
    RESHAPE("_unsafe_view"),
    RESHAPE("view_copy"),
    RESHAPE("reshape"),
    RESHAPE("_reshape_copy"),
    {"aten.cat",                    "tensors dim", run_cat, TC_RULE_PLAIN, 0, 0},
    {"aten.concat",                           "tensors dim", run_cat, TC_RULE_PLAIN, 0, 0},
    {"aten.stack",                            "tensors dim", run_cat, TC_RULE_PLAIN, 1, 0},
    {"aten.split_with_sizes_copy","self dim", run_split, TC_RULE_PLAIN, 0, 0},
    {"aten.unbind_copy",               "self dim", run_split, TC_RULE_PLAIN, 0, 0},
    {"fsdp.split_with_sizes_copy",                           "all_gather_output dim", run_split, TC_RULE_PLAIN, 0, 0},
    {"aten.repeat",                "self", run_repeat, TC_RULE_PLAIN, 0, 0},
    {"aten.constant_pad_nd",                     "self pad value", run_pad, TC_RULE_PLAIN, 0, 0},
    {"aten.flip",                           "self dims", run_turn, TC_RULE_PLAIN, 0, 0},
    {"aten.roll",                            "self shifts dims", run_turn, TC_RULE_PLAIN, 1, 0},
    {"aten.triu","self diagonal", run_triangle, TC_RULE_PLAIN, 1, 0},
    {"aten.tril",               "self diagonal", run_triangle, TC_RULE_PLAIN, -1, 0},
    {"aten.slice_backward",                           "grad_output dim start step", run_slice_backward, TC_RULE_PLAIN, 0, 0},
    {"aten.select_backward", "grad_output dim index", run_slice_backward, TC_RULE_PLAIN, 1, 0},
    {0                  },
};

const struct tc_rule tc_rules_fill[] = {
    FILL("zeros", 0),
    FILL("zeros_like", 0),
    FILL("new_zeros", 0),
    FILL("zero", 0),
    FILL("ones", 1),
    FILL("ones_like", 1),
    FILL("new_ones", 1),
    {"aten.full",          "fill_value", run_fill, TC_RULE_PLAIN, 2, 0},
    {"aten.full_like",            "fill_value", run_fill, TC_RULE_PLAIN, 2, 0},
    {"aten.new_full",                   "fill_value", run_fill, TC_RULE_PLAIN, 2, 0},
    {"aten.fill",                    "value", run_fill, TC_RULE_PLAIN, 2, 0},
    {"aten.scalar_tensor","s", run_fill, TC_RULE_PLAIN, 2, 0},
    {"aten.arange",       "start step", run_arange, TC_RULE_PLAIN, 0, 0},
    {"aten.eye",                   "n", run_eye, TC_RULE_PLAIN, 0, 0},
    {"aten.empty",      "", NULL, TC_RULE_SKIP, 0, 0},
    {"aten.empty_like",            "", NULL, TC_RULE_SKIP, 0, 0},
    {"aten.empty_strided",                   "", NULL, TC_RULE_SKIP, 0, 0},
    {"aten.new_empty",                    "", NULL, TC_RULE_SKIP, 0, 0},
    {"aten.new_empty_strided","", NULL, TC_RULE_SKIP, 0, 0},
    {"aten.resize",       "", NULL, TC_RULE_SKIP, 0, 0},
    {"aten.record_stream",                   "", NULL, TC_RULE_SKIP, 0, 0},
    {"aten._local_scalar_dense", "self", NULL, TC_RULE_SKIP, 0, 0},
    {"aten.is_nonzero",            "self", NULL, TC_RULE_SKIP, 0, 0},
    {0                  },
};
