/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizes.c - sizes that weaken a proof, as a wrong plan is right at them
 *
 * A plan is verified at its own sizes. Where two dimensions of a tensor are equal, one taken for
 * the other fits; where a rank has one element of a dimension, a factor by the local size is 1.
 */
#include "plan/sizes.h"

#define MAX_WARNINGS 4

/* ---- equal dimensions ---------------------------------------------------------------------- */

static bool is_coincidence(const struct tc_plan_init *init, uint32_t *a, uint32_t *b)
{
    const struct tc_plan_tensor *t = &init->tensor;

    for (*a = 0; *a < t->n_dims; ++*a)
        for (*b = *a + 1; *b < t->n_dims; ++*b)
            if (t->sizes[*a] == t->sizes[*b] && t->sizes[*a] > 1)
                return true;
    return false;
}

/* One warning for all tensors that have it at this size. */
static void warn_equal(const struct tc_plan_set *single, size_t first, struct tc_plan_verdict *v)
{
    const struct tc_plan_init *inits = single->ranks[0].inits.items;
    struct tc_strbuf text = TC_STRBUF_INIT;
    uint32_t a, b, c, d;
    size_t more = 0;

    is_coincidence(&inits[first], &a, &b);
    for (size_t i = 0; i < single->ranks[0].inits.n; i++) {
        if (inits[i].kind == TC_PLAN_STATE || !is_coincidence(&inits[i], &c, &d) ||
            inits[i].tensor.sizes[c] != inits[first].tensor.sizes[a] || i == first)
            continue;
        if (i < first) {
            tc_strbuf_release(&text);
            return; /* it has been told */
        }
        more++;
    }
    tc_strbuf_addf(&text, "dimensions %u and %u of %s are both %lld", a, b,
                   tc_strtab_text(single->names, inits[first].name),
                   (long long)inits[first].tensor.sizes[a]);
    if (more)
        tc_strbuf_addf(&text, ", and so are two of %zu more tensor%s", more, more == 1 ? "" : "s");
    tc_strbuf_adds(&text,
                   ": a plan that takes one for the other may pass; choose sizes that differ");
    tc_vec_push(&v->warnings, tc_plan_keep(v, &text));
}

/* ---- one element --------------------------------------------------------------------------- */

static bool warn_one(const struct tc_plan_set *parallel, const struct tc_plan_rank *rank,
                     const struct tc_plan_init *init, struct tc_plan_verdict *v)
{
    const struct tc_plan_place *place = &init->place;
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (place->flat >= 0 || place->n_global != init->tensor.n_dims)
        return false;
    for (uint32_t d = 0; d < place->n_global; d++) {
        if (init->tensor.sizes[d] != 1 || place->global[d] == 1)
            continue;
        tc_strbuf_addf(&text,
                       "dimension %u of %s is 1 on rank %u, of %lld: a factor by the local size "
                       "cannot be seen; choose a larger one",
                       d, tc_strtab_text(parallel->names, init->name), rank->rank,
                       (long long)place->global[d]);
        tc_vec_push(&v->warnings, tc_plan_keep(v, &text));
        return true;
    }
    return false;
}

void tc_plan_warn_sizes(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                        struct tc_plan_verdict *v)
{
    const struct tc_plan_rank *rank = &single->ranks[0];
    bool is_told = false;
    uint32_t a, b;

    for (size_t i = 0; i < rank->inits.n && v->warnings.n < MAX_WARNINGS; i++)
        if (rank->inits.items[i].kind != TC_PLAN_STATE &&
            is_coincidence(&rank->inits.items[i], &a, &b))
            warn_equal(single, i, v);
    for (uint32_t r = 0; r < parallel->copies.n_distinct && !is_told; r++) {
        const struct tc_plan_rank *of = &parallel->ranks[parallel->copies.distinct[r]];
        for (size_t i = 0; i < of->inits.n && !is_told; i++)
            is_told = warn_one(parallel, of, &of->inits.items[i], v);
    }
}
