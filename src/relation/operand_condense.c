/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_condense.c - fewer statements: those that a stronger one implies are left out
 *
 * An invariant is left out if one that stays implies it: a stronger part of the same tensors, a
 * circle of equalities, the mode that another states, or the outer call of the library. A proof
 * never needs what it proves.
 */
#include "relation/operand.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

/* Does a statement about `strong` of two tensors imply the same about `weak`? */
static bool is_stronger(enum tc_path_part strong, enum tc_path_part weak)
{
    if (strong == TC_PART_CONTENT)
        return weak != TC_PART_CONTENT;
    return strong == TC_PART_SHAPE && (weak == TC_PART_SHAPE_FIRST || weak == TC_PART_SHAPE_LAST);
}

/* The tensor, or the mode, of which a path tells a part. */
static uint64_t owner_of(const struct tc_strtab *symbols, tc_sym path)
{
    const struct tc_str owner = tc_path_read(symbols, path).owner;

    return tc_hash64(owner.text, owner.size, 0);
}

/* Of a tensor; TC_PART_NONE if x speaks of no part. */
static enum tc_path_part part_of(const struct tc_strtab *symbols, const struct tc_invariant *x)
{
    enum tc_path_part part = tc_path_read(symbols, x->params[1].name).part;

    return part == TC_PART_OF_MATRIX ? TC_PART_NONE : part;
}

static bool is_equality(const struct tc_invariant *x)
{
    return x->params[1].attr == TC_SYM_EQUALS;
}

/*
 * May invariant y stand in a proof of x, an equality of the same part? It must hold wherever x is
 * judged, and what is proved must not be needed for the proof: stronger ones, unconditional ones
 * for one with a precondition, and else those that come before it.
 */
static bool is_link(const struct tc_invariant_set *set, size_t x_at, size_t y_at)
{
    const struct tc_invariant *x = set->items.items[x_at], *y = set->items.items[y_at];
    const enum tc_path_part part = part_of(set->symbols, x), other = part_of(set->symbols, y);

    if (y_at == x_at || y->params[0].name != x->params[0].name || !other || !is_equality(y) ||
        (y->n_when && !tc_invariant_same_when(x, y)))
        return false;
    if (is_stronger(other, part))
        return true;
    return other == part && (y_at < x_at || (x->n_when && !y->n_when));
}

/* Equalities form classes: of a circle of them the last is implied by the others. */
static bool closes_circle(const struct tc_invariant_set *set, size_t at)
{
    const struct tc_invariant *x = set->items.items[at];
    struct tc_map reached = TC_MAP_INIT;
    uint64_t unused;
    bool grew = part_of(set->symbols, x) && is_equality(x);

    tc_map_put(&reached, owner_of(set->symbols, x->params[1].name), 1);
    while (grew) {
        grew = false;
        for (size_t i = 0; i < set->items.n; i++) {
            if (!is_link(set, at, i))
                continue;
            const struct tc_param *link = &set->items.items[i]->params[1];
            uint64_t left = owner_of(set->symbols, link->name);
            uint64_t right = owner_of(set->symbols, link->to);
            bool a = tc_map_get(&reached, left, &unused), b = tc_map_get(&reached, right, &unused);
            if (a != b) {
                tc_map_put(&reached, a ? right : left, 1);
                grew = true;
            }
        }
    }
    bool closed = tc_map_get(&reached, owner_of(set->symbols, x->params[1].to), &unused);
    tc_map_release(&reached);
    return closed;
}

/* "training is true, inside a module in training mode" is implied by "training equals the mode of
 * the module it runs in". */
static bool is_case_of(const struct tc_invariant *x, const struct tc_invariant *equality)
{
    return x->n_when == 1 && !x->when[0].negated && equality->n_when == 0 &&
           x->params[0].name == equality->params[0].name &&
           x->params[1].name == equality->params[1].name &&
           x->when[0].field == equality->params[1].to && x->when[0].value == x->params[1].to;
}

/* Is every call of this API made by another API of the library? Then what holds between its
 * operands says nothing that a statement about the outer call does not. */
static void note_outside(void *context, const struct tc_example *row)
{
    const struct tc_pair *pairs = row->situation->pairs;
    bool *is_outside = context;

    for (size_t i = 0; i < row->situation->n; i++)
        if (pairs[i].field == TC_SYM_F_IN_ROLE)
            *is_outside |= pairs[i].value == TC_SYM_TOP || pairs[i].value == TC_SYM_USER;
}

static bool is_inner(const struct tc_rows *rows, const struct tc_invariant *x)
{
    bool is_outside = false;

    rows->each(rows, x->params[0].name, note_outside, &is_outside);
    return !is_outside;
}

/* Constants of inner calls stay: they are how a mode shows. */
static bool is_constant(const struct tc_invariant *x)
{
    return x->params[1].attr == TC_SYM_IS && x->params[1].to != TC_SYM_FINITE;
}

/* Between an operand and the mode around it, or the contents of two tensors: what the user's bugs
 * break. */
static bool is_about_mode(const struct tc_invariant *x)
{
    return x->params[1].to == TC_SYM_F_OWNER_TRAINING || x->params[1].to == TC_SYM_F_CTX_AUTOCAST;
}

/* What holds of the dimension in all tensors holds in matrices. */
static bool implies_of_matrix(const struct tc_strtab *symbols, const struct tc_invariant *x,
                              const struct tc_invariant *y)
{
    const struct tc_path path = tc_path_read(symbols, y->params[1].name);

    return path.part == TC_PART_OF_MATRIX && x->params[0].name == y->params[0].name &&
           x->params[1].to == y->params[1].to &&
           tc_str_same(path.owner, tc_symbols_text(symbols, x->params[1].name)) &&
           (!x->n_when || tc_invariant_same_when(x, y));
}

static bool is_implied(const struct tc_rows *rows, const struct tc_invariant_set *set, size_t i)
{
    const struct tc_invariant *x = set->items.items[i];

    if (!is_constant(x) && !is_about_mode(x) && is_inner(rows, x))
        return true;
    for (size_t j = 0; j < set->items.n; j++)
        if ((is_equality(set->items.items[j]) && is_case_of(x, set->items.items[j])) ||
            implies_of_matrix(set->symbols, set->items.items[j], x))
            return true;
    return closes_circle(set, i);
}

void tc_operand_condense(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    tc_invariant_set_sort(set);
    for (size_t i = 0; i < set->items.n; i++)
        drop[i] = is_implied(rows, set, i);
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}
