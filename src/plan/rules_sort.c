/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_sort.c - order among the elements of a row: sort, topk, counts
 *
 * Elements have an order, the same everywhere, that means nothing: equal rows are sorted alike on
 * one device and on many. Integers (numbers of experts) have their own. Of equal elements the
 * first comes first.
 */
#include "plan/eval.h"

struct entry {
    tc_el value;
    size_t place;
};

static bool comes_before(const struct entry *a, const struct entry *b, bool is_descending)
{
    int order = tc_el_compare(a->value, b->value);

    return is_descending ? order > 0 : order < 0;
}

/* Stable: halves are sorted, then merged. */
static void sort_entries(struct entry *p, struct entry *spare, size_t n, bool is_descending)
{
    size_t half = n / 2, i = 0, j = half;

    if (n < 2)
        return;
    sort_entries(p, spare, half, is_descending);
    sort_entries(p + half, spare, n - half, is_descending);
    for (size_t k = 0; k < n; k++)
        spare[k] =
            j == n || (i < half && !comes_before(&p[j], &p[i], is_descending)) ? p[i++] : p[j++];
    for (size_t k = 0; k < n; k++)
        p[k] = spare[k];
}

/* The first `most` of each row along a dimension, with their places. */
static void sort_rows(struct tc_eval *e, unsigned dim, size_t most, bool is_descending)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    unsigned d = t->n_dims ? tc_eval_dim(tc_eval_int(e, dim, -1), t->n_dims) : 0;
    size_t inner = tc_eval_span(t, d + 1, t->n_dims), n = t->n_dims ? (size_t)t->sizes[d] : 1,
           outer = tc_eval_span(t, 0, d);
    const tc_el *from = tc_eval_read(e, t);
    tc_el *values = tc_eval_new(e, outer * most * inner + 1),
          *places = tc_eval_new(e, outer * most * inner + 1);
    struct entry *row = tc_arena_alloc(e->scratch, (n + 1) * sizeof(*row)),
                 *spare = tc_arena_alloc(e->scratch, (n + 1) * sizeof(*spare));

    for (size_t o = 0; o < outer * inner; o++) {
        size_t start = o / inner * n * inner + o % inner, to = o / inner * most * inner + o % inner;
        for (size_t k = 0; k < n; k++)
            row[k] = (struct entry){from[start + k * inner], k};
        sort_entries(row, spare, n, is_descending);
        for (size_t k = 0; k < most; k++) {
            values[to + k * inner] = row[k].value;
            places[to + k * inner] = tc_el_int((int64_t)row[k].place);
        }
    }
    tc_eval_write(e, 0, values, outer * most * inner);
    tc_eval_write(e, 1, places, outer * most * inner);
}

/* self dim descending */
static void run_sort(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);

    if (!t)
        return;
    unsigned d = t->n_dims ? tc_eval_dim(tc_eval_int(e, 1, -1), t->n_dims) : 0;
    sort_rows(e, 1, t->n_dims ? (size_t)t->sizes[d] : 1, tc_eval_bool(e, 2, false));
}

/* self k dim largest */
static void run_topk(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    int64_t k = tc_eval_int(e, 1, 0);

    if (!t)
        return;
    unsigned d = t->n_dims ? tc_eval_dim(tc_eval_int(e, 2, -1), t->n_dims) : 0;
    if (k < 0 || k > (t->n_dims ? t->sizes[d] : 1)) {
        tc_eval_fail(e, "more elements than a row has");
        return;
    }
    sort_rows(e, 2, (size_t)k, tc_eval_bool(e, 3, true));
}

/* A whole number in 31 bits; INT64_MAX, and the rule does not cover it, if it is none. */
static int64_t counted(struct tc_eval *e, tc_el element)
{
    int64_t x = tc_el_is_marked(element) ? INT64_MAX : tc_el_to_int(element);

    if (x >= -(INT64_C(1) << 31) && x <= INT64_C(1) << 31 && tc_el_same(tc_el_int(x), element))
        return x;
    tc_eval_fail(e, "counts of elements that are no integers");
    return INT64_MAX;
}

/* histc of integers: self bins min max */
static void run_histc(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    int64_t bins = tc_eval_int(e, 1, 100);
    double min = tc_eval_number(e, 2, 0), max = tc_eval_number(e, 3, 0);

    if (!t || bins < 1 || bins > 1 << 20 || !(min < max)) {
        tc_eval_fail(e, "bins without a range");
        return;
    }
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_zeros(e, (size_t)bins);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t x = counted(e, from[i]);
        if (x == INT64_MAX)
            return;
        if ((double)x < min || (double)x > max)
            continue;
        int64_t b = (int64_t)(((double)x - min) / (max - min) * (double)bins);
        b = b == bins ? bins - 1 : b;
        to[b] = tc_el_add(to[b], TC_EL_ONE);
    }
    tc_eval_write(e, 0, to, (size_t)bins);
}

/* self weights minlength. The result is as long as it was in the real job: its counts end there. */
static void run_bincount(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *weights = tc_eval_tensor(e, 1);
    int64_t n = e->op->outs[0] ? e->op->outs[0]->numel : 0;

    if (!t || (weights && weights->numel != t->numel)) {
        tc_eval_fail(e, "counts without elements, or weights of another number");
        return;
    }
    const tc_el *from = tc_eval_read(e, t), *by = weights ? tc_eval_read(e, weights) : NULL;
    tc_el *to = tc_eval_zeros(e, (size_t)n);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t x = counted(e, from[i]);
        if (x < 0 || x >= n) {
            tc_eval_fail(e, "a number beyond those that the real job has counted");
            return;
        }
        to[x] = tc_el_add(to[x], by ? by[i] : TC_EL_ONE);
    }
    tc_eval_write(e, 0, to, (size_t)n);
}

const struct tc_rule tc_rules_sort[] = {
    {"aten.sort",           "self dim descending", run_sort, TC_RULE_PLAIN, 0, 0},
    {"aten.topk",             "self k dim largest", run_topk, TC_RULE_PLAIN, 0, 0},
    {"aten.bincount",                    "self weights minlength", run_bincount, TC_RULE_PLAIN, 0, 0},
    {"aten.histc",                     "self bins min max", run_histc, TC_RULE_PLAIN, 0, 0},
    {0},
};
