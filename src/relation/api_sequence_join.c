/*
 * api_sequence_join.c - single calls and pairs of APISequence/window become chains
 */
#include "relation/api_sequence.h"

#include "base/banned.h"

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

static bool is_edge(const struct tc_invariant_set *set, const struct tc_invariant *like,
                    tc_sym from, tc_sym to)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (is_plain_pair(x) && x->params[0].name == from && x->params[1].name == to &&
            tc_invariant_same_when(x, like))
            return true;
    }
    return false;
}

/* Is the order of this pair implied by two others of the same precondition? */
static bool is_transitive(const struct tc_invariant_set *set, const struct tc_invariant *pair)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x != pair && is_plain_pair(x) && tc_invariant_same_when(x, pair) &&
            x->params[0].name == pair->params[0].name &&
            is_edge(set, pair, x->params[1].name, pair->params[1].name))
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

static void drop_implied(struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (is_plain_pair(x))
            drop[i] = is_transitive(set, x);
        else if (!is_single(x))
            drop[i] = is_farther(set, x) || is_mirrored(set, x);
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

/* An invariant that begins where this one ends, under the same precondition. Where one of the two
 * waits for a call, they must share it: a plain chain must not be made to wait. */
static size_t find_next(const struct tc_invariant_set *set, const bool *drop, size_t from)
{
    const struct tc_invariant *x = set->items.items[from];
    const struct tc_param *end = &x->params[x->n_params - 1];

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *next = set->items.items[i];
        if (i != from && !drop[i] && next->n_params >= 2 && next->params[0].name == end->name &&
            next->params[0].given == end->given && tc_invariant_same_when(next, x) &&
            (end->given || (!has_given(x) && !has_given(next))) &&
            x->n_params + next->n_params - 1 <= TC_MAX_PARAMS)
            return i;
    }
    return SIZE_MAX;
}

/* Append pairs to pairs until no end meets a beginning. */
static void join_pairs(struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        struct tc_invariant *x = set->items.items[i];
        if (drop[i] || is_single(x))
            continue;
        for (size_t j; (j = find_next(set, drop, i)) != SIZE_MAX;) {
            const struct tc_invariant *next = set->items.items[j];
            for (size_t k = 1; k < next->n_params; k++)
                x->params[x->n_params++] = next->params[k];
            drop[j] = true;
        }
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

/* A call that a longer chain of the same precondition has needs no invariant of its own. */
static void drop_singles(struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        for (size_t j = 0; is_single(x) && j < set->items.n; j++) {
            const struct tc_invariant *y = set->items.items[j];
            if (is_single(y) || has_given(y) || !tc_invariant_same_when(x, y))
                continue;
            for (size_t k = 0; k < y->n_params; k++)
                drop[i] |= y->params[k].name == x->params[0].name;
        }
    }
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

void tc_window_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted)
{
    (void)rows;
    tc_invariant_set_sort(accepted);
    drop_implied(accepted);
    join_pairs(accepted);
    drop_singles(accepted);
}
