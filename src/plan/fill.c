/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.c - what is in the storages of a rank before its first operator
 *
 * The contents of a parameter are a function of its name, the seed and the place of the element in
 * the single-device tensor, so that every rank can draw its part alone.
 */
#include "plan/fill.h"

#include <math.h>

#include "base/hash.h"
#include "plan/eval.h"

/* Where a row of the piece begins, in the tensor and in the single-device tensor. */
static int64_t row_at(const int64_t *index, const int64_t *at, const int64_t *sizes,
                      uint32_t n_dims)
{
    int64_t place = 0;

    for (uint32_t d = 0; d < n_dims; d++)
        place = place * sizes[d] + at[d] + index[d];
    return place;
}

static void place_piece(const struct tc_plan_tensor *t, const struct tc_plan_place *place,
                        const struct tc_plan_piece *piece, int64_t *out)
{
    int64_t index[TC_PLAN_MAX_DIMS] = {0}, row = 1, n = 1;

    for (uint32_t d = 0; d < t->n_dims; d++)
        n *= row = piece->sizes[d];
    for (int64_t done = 0; done < n; done += row) {
        int64_t from = row_at(index, piece->local, t->sizes, t->n_dims);
        int64_t to = row_at(index, piece->at, place->global, t->n_dims);
        for (int64_t i = 0; i < row; i++)
            out[from + i] = to + i;
        for (uint32_t d = t->n_dims; d-- > 1 && ++index[d - 1] == piece->sizes[d - 1];)
            index[d - 1] = 0;
    }
}

void tc_plan_places(const struct tc_plan_tensor *t, const struct tc_plan_place *place, int64_t *out)
{
    for (int64_t i = 0; i < t->numel; i++)
        out[i] = place->flat >= 0 ? place->flat + i : -1;
    for (uint32_t k = 0; k < place->n_pieces; k++)
        place_piece(t, place, &place->pieces[k], out);
}

/* Whole numbers stay what they are: indices, masks. */
static tc_el number_here(tc_el x)
{
    return tc_el_spread == 0 || tc_el_is_double(x) ? x : tc_el_number(tc_el_to_double(x), false);
}

static void fill_const(const struct tc_plan_const *c, tc_el *slot)
{
    for (int64_t i = 0; i < c->n && slot; i++)
        slot[i] = number_here(c->data[c->is_fill ? 0 : i]);
}

uint64_t tc_plan_seed(unsigned number)
{
    return UINT64_C(0x9e3779b97f4a7c15) * (number + 1);
}

/* What torch draws with a mean of its own is drawn alike here: nothing is known of it. */
void tc_plan_draw_init(const struct tc_plan_init *init, const struct tc_strtab *names,
                       uint64_t seed, tc_el *out)
{
    size_t n = (size_t)init->tensor.numel;
    const char *name = tc_strtab_text(names, init->name);
    uint64_t key = tc_hash64(name, tc_strtab_size(names, init->name), seed);
    struct tc_function f = tc_function_make(key, TC_FN_VARIABLE, 0, 0, 0);
    int64_t *places = tc_malloc((n + 1) * sizeof(*places));

    tc_plan_places(&init->tensor, &init->place, places);
    for (size_t i = 0; i < n; i++) {
        out[i] = places[i] < 0 ? TC_EL_UNDEF : tc_el_apply(&f, tc_el_int(places[i] + 2));
        if (tc_el_spread != 0 && init->kind == TC_PLAN_STATE) /* sums of squares among them */
            out[i] = tc_el_of_double(fabs(tc_el_to_double(out[i])));
        if (init->data)
            out[i] = number_here(init->data[i]);
    }
    tc_free(places);
}

static void fill_init(const struct tc_plan_init *init, const struct tc_strtab *names, uint64_t seed,
                      tc_el *slot)
{
    tc_el *data = tc_malloc(((size_t)init->tensor.numel + 1) * sizeof(*data));

    tc_plan_draw_init(init, names, seed, data);
    if (slot)
        tc_view_scatter(slot, &init->tensor, data);
    tc_free(data);
}

void tc_plan_fill(const struct tc_plan_rank *rank, const struct tc_strtab *names, uint64_t seed,
                  tc_el *const *slots)
{
    for (size_t i = 0; i < rank->consts.n; i++)
        if (rank->consts.items[i].storage != TC_PLAN_NO_SLOT)
            fill_const(&rank->consts.items[i], slots[rank->consts.items[i].storage]);
    for (size_t i = 0; i < rank->inits.n; i++)
        if (rank->inits.items[i].tensor.storage != TC_PLAN_NO_SLOT)
            fill_init(&rank->inits.items[i], names, seed,
                      slots[rank->inits.items[i].tensor.storage]);
}
