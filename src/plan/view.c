/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - copies between strided views and row-major order
 */
#include "plan/eval.h"

#include <string.h>

/* Calls for each innermost row: odometer over the outer dimensions. */
struct walk {
    unsigned n;
    const int64_t *sizes, *strides;
    int64_t index[TC_PLAN_MAX_DIMS];
    int64_t offset;
};

static bool next_row(struct walk *w)
{
    for (unsigned d = w->n - 1; d-- > 0;) {
        w->offset += w->strides[d];
        if (++w->index[d] < w->sizes[d])
            return true;
        w->offset -= w->strides[d] * w->sizes[d];
        w->index[d] = 0;
    }
    return false;
}

void tc_view_gather_strided(const tc_el *from, unsigned n_dims, const int64_t *sizes,
                            const int64_t *strides, tc_el *to)
{
    struct walk w = {.n = n_dims, .sizes = sizes, .strides = strides};

    if (n_dims == 0) {
        *to = *from;
        return;
    }
    for (unsigned d = 0; d < n_dims; d++)
        if (sizes[d] == 0)
            return;
    const int64_t row = sizes[n_dims - 1], step = strides[n_dims - 1];
    do {
        const tc_el *p = from + w.offset;
        for (int64_t i = 0; i < row; i++)
            to[i] = p[i * step];
        to += row;
    } while (next_row(&w));
}

void tc_view_gather(const tc_el *storage, const struct tc_plan_tensor *t, tc_el *to)
{
    if (t->is_contiguous)
        memcpy(to, storage + t->offset, (size_t)t->numel * sizeof(*to));
    else
        tc_view_gather_strided(storage + t->offset, t->n_dims, t->sizes, t->strides, to);
}

void tc_view_scatter(tc_el *storage, const struct tc_plan_tensor *t, const tc_el *from)
{
    struct walk w = {.n = t->n_dims, .sizes = t->sizes, .strides = t->strides};

    if (t->is_contiguous) {
        memmove(storage + t->offset, from, (size_t)t->numel * sizeof(*from));
        return;
    }
    if (t->numel == 0)
        return;
    const int64_t row = t->sizes[t->n_dims - 1], step = t->strides[t->n_dims - 1];
    do {
        tc_el *p = storage + t->offset + w.offset;
        for (int64_t i = 0; i < row; i++)
            p[i * step] = from[i];
        from += row;
    } while (next_row(&w));
}
