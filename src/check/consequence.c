/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consequence.c - a batch of 64 for one of 32 makes lists of 64, and calls for each element
 *
 * A changed setting is a pair of numbers that a call was given, or that its receiver has. The form
 * of a law says whether what was seen follows from such a pair: if it is about an amount. What a
 * call computes over, or how, is no amount. Nor does an amount follow from a shape: that is another
 * one, too, where elements were lost or calls left out.
 */
#include "check/consequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "check/change.h"

struct pair {
    uint64_t run;
    double from, to;
};

struct pairs {
    TC_VEC(struct pair) items;
};

static bool is_of_result(const struct tc_violation *v, const struct tc_strtab *symbols)
{
    static const char result[] = "value";

    return !strncmp(tc_strtab_text(symbols, tc_invariant_fact(v->invariant)->path), result,
                    strlen(result));
}

/* One change stands in many places, and is one pair. */
static void add_pair(struct pairs *pairs, const struct pair *pair)
{
    if (pair->from < 1 || pair->to < 1 || pair->from == pair->to)
        return;
    for (size_t i = 0; i < pairs->items.n; i++) {
        const struct pair *known = &pairs->items.items[i];
        if (known->run == pair->run && known->from == pair->from && known->to == pair->to)
            return;
    }
    tc_vec_push(&pairs->items, *pair);
}

static void add_setting(struct pairs *pairs, const struct tc_violation *v,
                        const struct tc_strtab *symbols)
{
    struct tc_change change;

    if (tc_change_of(&change, v, symbols) && !is_of_result(v, symbols))
        add_pair(pairs, &(struct pair){change.run, strtod(change.from.text, NULL),
                                       strtod(change.to.text, NULL)});
}

static bool follows(const struct pairs *pairs, const struct tc_violation *v,
                    const struct tc_strtab *symbols)
{
    for (size_t i = 0; v->relation->follows && v->n_outcome && i < pairs->items.n; i++) {
        const struct pair *pair = &pairs->items.items[i];
        if (pair->run == v->first.run &&
            v->relation->follows(symbols, v->invariant, v->outcome[0], pair->from, pair->to))
            return true;
    }
    return false;
}

void tc_consequences_mark(struct tc_violation *const *violations, size_t n,
                          const struct tc_strtab *symbols)
{
    struct pairs pairs = {0};

    for (size_t i = 0; i < n; i++)
        add_setting(&pairs, violations[i], symbols);
    for (size_t i = 0; pairs.items.n && i < n; i++)
        violations[i]->is_setting |= follows(&pairs, violations[i], symbols);
    tc_vec_release(&pairs.items);
}
