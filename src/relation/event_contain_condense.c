/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_condense.c - EventContain/some(A, C) follows from A, which contains B, and from B,
 * which contains C
 */
#include "relation/form.h"

#include <string.h>

static bool is_some(const struct tc_invariant_set *set, size_t i)
{
    return !strcmp(tc_strtab_text(set->symbols, set->items.items[i]->relation),
                   "EventContain/some");
}

static bool is_same_content(const struct tc_param *a, const struct tc_param *b)
{
    return a->kind == b->kind && a->name == b->name && a->role == b->role && a->attr == b->attr &&
           a->from == b->from && a->to == b->to;
}

/* Is x said by outer, of a call that x's own call contains, and by inner, of what that contains? */
static bool follows(const struct tc_invariant *x, const struct tc_invariant *outer,
                    const struct tc_invariant *inner)
{
    const struct tc_param *call = &outer->params[1];

    return call->kind == TC_PARAM_CALL && call->name != x->params[0].name &&
           outer->params[0].name == x->params[0].name && tc_invariant_same_when(outer, x) &&
           inner->params[0].name == call->name && inner->n_when == 0 &&
           is_same_content(&inner->params[1], &x->params[1]);
}

static bool is_implied(const struct tc_invariant_set *set, size_t i)
{
    struct tc_invariant *const *items = set->items.items;

    for (size_t j = 0; j < set->items.n; j++)
        for (size_t k = 0; is_some(set, j) && k < set->items.n; k++)
            if (is_some(set, k) && follows(items[i], items[j], items[k]))
                return true;
    return false;
}

void tc_contain_condense(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    (void)rows;
    for (size_t i = 0; i < set->items.n; i++)
        drop[i] = is_some(set, i) && is_implied(set, i);
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}
