/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_join.c - single calls and pairs of APISequence/window become chains
 *
 * Implied pairs are dropped, pairs that meet end to begin under one precondition become chains,
 * and single calls that a chain has are dropped. What all of them claim together stays the same.
 */
#include "relation/api_sequence.h"

static bool is_single(const struct tc_invariant *i)
{
    return i->n_params == 1;
}

static bool has_given(const struct tc_invariant *x)
{
    for (size_t i = 0; i < x->n_params; i++)
        if (x->params[i].given)
            return true;
    return false;
}

static bool is_plain_pair(const struct tc_invariant *i)
{
    return i->n_params == 2 && !has_given(i);
}

/* Is there a window in which one holds, and of which the other says nothing? */
struct comparison {
    struct tc_strtab *symbols;
    const struct tc_invariant *one, *other;
    bool is_narrower;
};

static bool is_held(const struct comparison *c, const struct tc_invariant *x,
                    const struct tc_example *row)
{
    return tc_api_sequence_window.holds(c->symbols, x->params, x->n_params, row->outcome,
                                        row->n_outcome) == TC_HELD;
}

static void compare_in(void *context, const struct tc_example *row)
{
    struct comparison *c = context;

    c->is_narrower |= is_held(c, c->one, row) && !is_held(c, c->other, row);
}

/*
 * What is said of a scheduler, a scaler or a library is said of scripts that use it. So the order
 * of a forward and a step does not follow from that of each to a scaler's call: does x speak of
 * every window in which y holds?
 */
static bool is_as_wide(const struct tc_rows *rows, const struct tc_invariant *x,
                       const struct tc_invariant *y)
{
    struct comparison c = {rows->symbols, y, x, false};

    rows->each(rows, tc_api_sequence_window.key(rows->symbols, y->params, y->n_params), compare_in,
               &c);
    return !c.is_narrower;
}

static bool is_edge(const struct tc_rows *rows, const struct tc_invariant_set *set,
                    const struct tc_invariant *like, tc_sym from, tc_sym to)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (is_plain_pair(x) && x->params[0].name == from && x->params[1].name == to &&
            tc_invariant_same_when(x, like) && is_as_wide(rows, x, like))
            return true;
    }
    return false;
}

/* Is the order of this pair implied by two others of the same precondition? */
static bool is_transitive(const struct tc_rows *rows, const struct tc_invariant_set *set,
                          const struct tc_invariant *pair)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x != pair && is_plain_pair(x) && tc_invariant_same_when(x, pair) &&
            x->params[0].name == pair->params[0].name &&
            is_edge(rows, set, pair, x->params[1].name, pair->params[1].name) &&
            is_as_wide(rows, x, pair))
            return true;
    }
    return false;
}

/* A pair around a given call is implied by a nearer one: a before the given b, when also a nearer c
 * is and a stands before c always, or wherever c is. */
static bool is_farther(const struct tc_invariant_set *set, const struct tc_invariant *pair)
{
    size_t g = pair->params[1].given;

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x == pair || x->n_params != 2 || !x->params[g].given ||
            x->params[g].name != pair->params[g].name || !tc_invariant_same_when(x, pair))
            continue;
        for (size_t j = 0; j < set->items.n; j++) {
            const struct tc_invariant *y = set->items.items[j];
            tc_sym from = g ? pair->params[0].name : x->params[1].name;
            tc_sym to = g ? x->params[0].name : pair->params[1].name;
            if (y->n_params == 2 && (!has_given(y) || y->params[g].given) &&
                (y->n_when == 0 || tc_invariant_same_when(y, pair)) && y->params[0].name == from &&
                y->params[1].name == to)
                return true;
        }
    }
    return false;
}

/* Two calls that only come together need one invariant: the one that waits for the later. */
static bool is_mirrored(const struct tc_invariant_set *set, const struct tc_invariant *pair)
{
    if (!pair->params[0].given)
        return false;
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x->n_params == 2 && x->params[1].given && tc_invariant_same_when(x, pair) &&
            x->params[0].name == pair->params[0].name && x->params[1].name == pair->params[1].name)
            return true;
    }
    return false;
}

static void drop_implied(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (is_plain_pair(x))
            drop[i] = is_transitive(rows, set, x);
        else if (!is_single(x))
            drop[i] = is_farther(set, x) || is_mirrored(set, x);
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

/* x and next, which begins where x ends. */
static struct tc_invariant joined(const struct tc_invariant *x, const struct tc_invariant *next)
{
    struct tc_invariant chain = *x;

    for (size_t k = 1; k < next->n_params; k++)
        chain.params[chain.n_params++] = next->params[k];
    return chain;
}

/* An invariant that begins where this one ends, under the same precondition. Where one of the two
 * waits for a call, they must share it: a plain chain must not be made to wait. */
static size_t find_next(const struct tc_rows *rows, const struct tc_invariant_set *set,
                        const bool *drop, size_t from)
{
    const struct tc_invariant *x = set->items.items[from];
    const struct tc_param *end = &x->params[x->n_params - 1];

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *next = set->items.items[i];
        if (i != from && !drop[i] && next->n_params >= 2 && next->params[0].name == end->name &&
            next->params[0].given == end->given && tc_invariant_same_when(next, x) &&
            (end->given || (!has_given(x) && !has_given(next))) &&
            x->n_params + next->n_params - 1 <= TC_MAX_PARAMS) {
            struct tc_invariant chain = joined(x, next);
            if (is_as_wide(rows, &chain, x) && is_as_wide(rows, &chain, next))
                return i;
        }
    }
    return SIZE_MAX;
}

/* Append pairs to pairs until no end meets a beginning. */
static void join_pairs(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        struct tc_invariant *x = set->items.items[i];
        if (drop[i] || is_single(x))
            continue;
        for (size_t j; (j = find_next(rows, set, drop, i)) != SIZE_MAX;) {
            *x = joined(x, set->items.items[j]);
            drop[j] = true;
        }
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

/* A call that a longer chain of the same precondition has needs no invariant of its own. */
static void drop_singles(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        for (size_t j = 0; is_single(x) && j < set->items.n; j++) {
            const struct tc_invariant *y = set->items.items[j];
            if (is_single(y) || has_given(y) || !tc_invariant_same_when(x, y))
                continue;
            for (size_t k = 0; !drop[i] && k < y->n_params; k++)
                drop[i] = y->params[k].name == x->params[0].name && is_as_wide(rows, y, x);
        }
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

void tc_window_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted)
{
    tc_invariant_set_sort(accepted);
    drop_implied(rows, accepted);
    join_pairs(rows, accepted);
    drop_singles(rows, accepted);
}
