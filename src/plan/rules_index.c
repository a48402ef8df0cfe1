/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_index.c - operators that read or write where an index tensor says
 *
 * An index must be a number within its dimension; any other fails the evaluation. Data moves and
 * is added up, so the results stay exact.
 */
#include "plan/eval.h"

/* Index k of an index tensor, within [0, size); -1 after a failure. */
static int64_t place(struct tc_eval *e, const tc_el *index, size_t k, int64_t size)
{
    int64_t i = tc_el_is_marked(index[k]) ? size : tc_el_to_int(index[k]);

    i = i < 0 ? i + size : i;
    if (i >= 0 && i < size)
        return i;
    tc_eval_fail(e, "an index outside its tensor: routing by values is out of scope");
    return -1;
}

/* ---- embeddings ---------------------------------------------------------------------------- */

static void run_embedding(struct tc_eval *e)
{
    const struct tc_plan_tensor *w = tc_eval_tensor(e, 0), *index = tc_eval_tensor(e, 1);

    if (!w || !index || w->n_dims != 2) {
        tc_eval_fail(e, "no table");
        return;
    }
    size_t n = (size_t)index->numel, width = (size_t)w->sizes[1];
    const tc_el *table = tc_eval_read(e, w), *at = tc_eval_read(e, index);
    tc_el *to = tc_eval_new(e, n * width);
    for (size_t k = 0; k < n; k++) {
        int64_t row = place(e, at, k, w->sizes[0]);
        for (size_t c = 0; c < width && row >= 0; c++)
            to[k * width + c] = table[(size_t)row * width + c];
    }
    tc_eval_write(e, 0, to, n * width);
}

/* grad_output indices num_weights padding_idx scale_grad_by_freq */
static void run_embedding_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *index = tc_eval_tensor(e, 1),
                                *out = tc_eval_out(e, 0);
    int64_t padding = tc_eval_int(e, 3, -1);

    if (!g || !index || !out || out->n_dims != 2 || tc_eval_bool(e, 4, false) ||
        g->numel != index->numel * out->sizes[1]) {
        tc_eval_fail(e, "sizes that do not fit, or scale_grad_by_freq");
        return;
    }
    size_t n = (size_t)index->numel, width = (size_t)out->sizes[1];
    const tc_el *from = tc_eval_read(e, g), *at = tc_eval_read(e, index);
    tc_el *to = tc_eval_zeros(e, (size_t)out->numel);
    for (size_t k = 0; k < n; k++) {
        int64_t row = place(e, at, k, out->sizes[0]);
        for (size_t c = 0; c < width && row >= 0 && row != padding; c++) {
            tc_el *p = &to[(size_t)row * width + c];
            *p = tc_el_add(*p, from[k * width + c]);
        }
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* ---- along one dimension ------------------------------------------------------------------- */

/* index_select: index has one dimension. */
static void run_index_select(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *index = tc_eval_tensor(e, 2);

    if (!t || !index)
        return;
    unsigned d = tc_eval_dim(tc_eval_int(e, 1, 0), t->n_dims);
    size_t outer = tc_eval_span(t, 0, d), size = t->n_dims ? (size_t)t->sizes[d] : 1,
           inner = tc_eval_span(t, d + 1, t->n_dims), n = (size_t)index->numel;
    const tc_el *from = tc_eval_read(e, t), *at = tc_eval_read(e, index);
    tc_el *to = tc_eval_new(e, outer * n * inner);
    for (size_t o = 0; o < outer; o++)
        for (size_t k = 0; k < n; k++) {
            int64_t row = place(e, at, k, (int64_t)size);
            for (size_t c = 0; c < inner && row >= 0; c++)
                to[(o * n + k) * inner + c] = from[(o * size + (size_t)row) * inner + c];
        }
    tc_eval_write(e, 0, to, outer * n * inner);
}

/* index_add: self dim index source alpha */
static void run_index_add(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *index = tc_eval_tensor(e, 2),
                                *source = tc_eval_tensor(e, 3);

    if (!t || !index || !source)
        return;
    unsigned d = tc_eval_dim(tc_eval_int(e, 1, 0), t->n_dims);
    size_t outer = tc_eval_span(t, 0, d), size = t->n_dims ? (size_t)t->sizes[d] : 1,
           inner = tc_eval_span(t, d + 1, t->n_dims), n = (size_t)index->numel;
    tc_el *to = tc_eval_take(e, t), alpha = tc_eval_scalar(e, 4, 1);
    const tc_el *from = tc_eval_read(e, source), *at = tc_eval_read(e, index);
    bool is_copy = e->op->rule->variant;
    if ((size_t)source->numel != outer * n * inner) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    for (size_t o = 0; o < outer; o++)
        for (size_t k = 0; k < n; k++) {
            int64_t row = place(e, at, k, (int64_t)size);
            for (size_t c = 0; c < inner && row >= 0; c++) {
                tc_el *p = &to[(o * size + (size_t)row) * inner + c];
                tc_el x = from[(o * n + k) * inner + c];
                *p = is_copy ? x : tc_el_add(*p, tc_el_mul(alpha, x));
            }
        }
    tc_eval_write(e, 0, to, (size_t)t->numel);
}

/* Where element i of an index tensor points in t: the same place, but for dimension d. */
static int64_t along(struct tc_eval *e, const struct tc_plan_tensor *t,
                     const struct tc_plan_tensor *index, const tc_el *at, int64_t i, unsigned d)
{
    int64_t rest = i, flat = 0, step = 1;

    for (unsigned k = t->n_dims; k-- > 0;) {
        int64_t x = rest % index->sizes[k];
        rest /= index->sizes[k];
        if (k == d)
            x = place(e, at, (size_t)i, t->sizes[k]);
        if (x < 0 || x >= t->sizes[k]) {
            tc_eval_fail(e, "sizes that do not fit");
            return 0;
        }
        flat += x * step;
        step *= t->sizes[k];
    }
    return flat;
}

static void run_gather(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *index = tc_eval_tensor(e, 2);

    if (!t || !index || t->n_dims != index->n_dims) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    unsigned d = tc_eval_dim(tc_eval_int(e, 1, 0), t->n_dims);
    const tc_el *from = tc_eval_read(e, t), *at = tc_eval_read(e, index);
    tc_el *to = tc_eval_new(e, (size_t)index->numel);
    for (int64_t i = 0; i < index->numel && !*e->failure; i++)
        to[i] = from[t->n_dims ? along(e, t, index, at, i, d) : 0];
    tc_eval_write(e, 0, to, (size_t)index->numel);
}

/* scatter: variant 0, scatter_add: 1; a source that is a number stands for all elements. */
static void run_scatter(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *index = tc_eval_tensor(e, 2),
                                *source = tc_eval_tensor(e, 3);

    if (!t || !index || t->n_dims != index->n_dims || (source && source->n_dims != t->n_dims)) {
        tc_eval_fail(e, "sizes that do not fit");
        return;
    }
    unsigned d = tc_eval_dim(tc_eval_int(e, 1, 0), t->n_dims);
    tc_el *to = tc_eval_take(e, t), value = source ? TC_EL_ZERO : tc_eval_scalar(e, 3, 0);
    const tc_el *at = tc_eval_read(e, index);
    for (int64_t i = 0; i < index->numel && !*e->failure; i++) {
        int64_t rest = i, from = source ? source->offset : 0;
        for (unsigned k = t->n_dims; source && k-- > 0; rest /= index->sizes[k])
            from += rest % index->sizes[k] * source->strides[k];
        tc_el x = source ? e->storages[source->storage][from] : value;
        tc_el *p = &to[along(e, t, index, at, i, d)];
        *p = e->op->rule->variant ? tc_el_add(*p, x) : x;
    }
    tc_eval_write(e, 0, to, (size_t)t->numel);
}

/* ---- index with a tensor for some dimensions ----------------------------------------------- */

/* t[:, i, j]: the broadcast indices take the place of the indexed dimensions if these are
 * neighbours, else the front. */
struct indexing {
    const struct tc_plan_tensor *t;
    const struct tc_plan_tensor *index[TC_PLAN_MAX_DIMS];
    int64_t sizes[TC_PLAN_MAX_DIMS]; /* of the result */
    unsigned n, n_wide, first;       /* dimensions of the result, of the indices, where these are */
    int64_t wide[TC_PLAN_MAX_DIMS];  /* broadcast sizes of the indices */
};

static void broadcast_sizes(struct tc_eval *e, struct indexing *x, const struct tc_plan_tensor *i)
{
    for (unsigned d = 0; d < i->n_dims; d++) {
        int64_t *size = &x->wide[x->n_wide - i->n_dims + d];
        if (*size != 1 && i->sizes[d] != 1 && i->sizes[d] != *size)
            tc_eval_fail(e, "indices that do not broadcast");
        *size = *size == 1 ? i->sizes[d] : *size;
    }
}

static bool are_neighbours(const struct indexing *x)
{
    unsigned runs = 0;

    for (unsigned d = 0; d < x->t->n_dims; d++)
        runs += x->index[d] && (d == 0 || !x->index[d - 1]);
    return runs <= 1;
}

static bool indexing_of(struct tc_eval *e, struct indexing *x)
{
    const struct tc_plan_value *list = tc_eval_arg(e, 1);
    unsigned rest = 0;

    *x = (struct indexing){.t = tc_eval_tensor(e, 0)};
    if (!x->t || list->kind != TC_PLAN_LIST || list->n > x->t->n_dims) {
        tc_eval_fail(e, "indices that do not fit");
        return false;
    }
    for (uint32_t d = 0; d < list->n; d++)
        if (list->items[d].kind == TC_PLAN_TENSOR) {
            x->index[d] = list->items[d].tensor;
            if (x->index[d]->type == TC_PLAN_BOOL)
                tc_eval_fail(e, "a mask as index: the sizes depend on values");
            x->n_wide = x->index[d]->n_dims > x->n_wide ? x->index[d]->n_dims : x->n_wide;
        }
    for (unsigned d = 0; d < x->n_wide; d++)
        x->wide[d] = 1;
    for (unsigned d = 0; d < list->n; d++)
        if (x->index[d])
            broadcast_sizes(e, x, x->index[d]);
    while (rest < x->t->n_dims && !x->index[rest])
        rest++;
    x->first = are_neighbours(x) ? rest : 0;
    for (unsigned d = 0, done = 0; d < x->t->n_dims; d++) {
        if (x->n == x->first && !done++)
            for (unsigned k = 0; k < x->n_wide && x->n < TC_PLAN_MAX_DIMS; k++)
                x->sizes[x->n++] = x->wide[k];
        if (!x->index[d] && x->n < TC_PLAN_MAX_DIMS)
            x->sizes[x->n++] = x->t->sizes[d];
    }
    return !*e->failure;
}

/* Where the element of the result at that position stands in t, counted in row-major order. */
static int64_t target(struct tc_eval *e, const struct indexing *x, const int64_t *position)
{
    const int64_t *wide = position + x->first;
    int64_t flat = 0;
    unsigned next = x->first ? 0 : x->n_wide;

    for (unsigned d = 0; d < x->t->n_dims; d++) {
        const struct tc_plan_tensor *i = x->index[d];
        int64_t at;
        if (!i) {
            if (next == x->first)
                next += x->n_wide;
            at = position[next++];
        } else {
            int64_t offset = i->offset;
            for (unsigned k = 0; k < i->n_dims; k++)
                offset += i->sizes[k] == 1 ? 0 : wide[x->n_wide - i->n_dims + k] * i->strides[k];
            at = place(e, &e->storages[i->storage][offset], 0, x->t->sizes[d]);
        }
        flat = flat * x->t->sizes[d] + (at < 0 ? 0 : at);
    }
    return flat;
}

static int64_t count_indices(const struct indexing *x)
{
    int64_t n = 1;

    for (unsigned d = 0; d < x->n; d++)
        n *= x->sizes[d];
    return n;
}

static void advance(const struct indexing *x, int64_t *position)
{
    for (unsigned d = x->n; d-- > 0 && ++position[d] == x->sizes[d];)
        position[d] = 0;
}

static void run_index(struct tc_eval *e)
{
    int64_t position[TC_PLAN_MAX_DIMS] = {0};
    struct indexing x;

    if (!indexing_of(e, &x))
        return;
    int64_t n = count_indices(&x);
    const tc_el *from = tc_eval_read(e, x.t);
    tc_el *to = tc_eval_new(e, (size_t)n);
    for (int64_t i = 0; i < n && !*e->failure; i++) {
        to[i] = from[target(e, &x, position)];
        advance(&x, position);
    }
    tc_eval_write(e, 0, to, (size_t)n);
}

/* self indices values accumulate */
static void run_index_put(struct tc_eval *e)
{
    const struct tc_plan_tensor *values = tc_eval_tensor(e, 2);
    int64_t position[TC_PLAN_MAX_DIMS] = {0};
    bool adds = tc_eval_bool(e, 3, false);
    struct indexing x;

    if (!values || !indexing_of(e, &x))
        return;
    struct tc_plan_tensor over = {.n_dims = x.n, .numel = count_indices(&x), .sizes = x.sizes};
    struct tc_operand from = tc_eval_broadcast(e, values, &over);
    tc_el *to = tc_eval_take(e, x.t);
    for (int64_t i = 0; i < over.numel && !*e->failure; i++) {
        tc_el *p = &to[target(e, &x, position)], value = from.p[(size_t)i * from.step];
        *p = adds ? tc_el_add(*p, value) : value;
        advance(&x, position);
    }
    tc_eval_write(e, 0, to, (size_t)x.t->numel);
}

const struct tc_rule tc_rules_index[] = {
    {"aten.embedding",                                                 "weight indices", run_embedding, TC_RULE_PLAIN, 0, 0},
    {"aten.embedding_dense_backward",
     "grad_output indices num_weights padding_idx scale_grad_by_freq", run_embedding_backward,
     TC_RULE_PLAIN, 0, 0},
    {"aten.index_select",                                                               "self dim index", run_index_select, TC_RULE_PLAIN, 0, 0},
    {"aten.index_add",                                                                "self dim index source alpha", run_index_add, TC_RULE_PLAIN, 0, 0},
    {"aten.index_copy", "self dim index source", run_index_add, TC_RULE_PLAIN, 1, 0},
    {"aten.gather",                                                    "self dim index", run_gather, TC_RULE_PLAIN, 0, 0},
    {"aten.scatter",                                                               "self dim index src|value", run_scatter, TC_RULE_PLAIN, 0, 0},
    {"aten.scatter_add",                                              "self dim index src", run_scatter, TC_RULE_PLAIN, 1, 0},
    {"aten.index",                                                "self indices", run_index, TC_RULE_PLAIN, 0, 0},
    {"aten.index_put",                                                               "self indices values accumulate", run_index_put, TC_RULE_PLAIN, 0, 0},
    {"aten._index_put_impl",                                                                "self indices values accumulate", run_index_put, TC_RULE_PLAIN, 0, 0},
    {"aten._unsafe_index","self indices", run_index, TC_RULE_PLAIN, 0, 0},
    {"aten._unsafe_index_put",                                                   "self indices values accumulate", run_index_put, TC_RULE_PLAIN, 0,
     0},
    {0                                                              },
};
