/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consequence.c - a batch of 64 for one of 32 makes lists of 64, and calls for each element
 *
 * A changed setting is a pair of numbers that a call was given, or that its receiver has. A law
 * about an amount that breaks as the pair says follows from it: a length in the same proportion,
 * the last index of it, a count that rises by a multiple of the difference or falls in proportion,
 * as there are half as many batches. What a call computes over, or how, is no amount. Nor does an
 * amount follow from a shape: that is another one, too, where elements were lost or calls left out.
 */
#include "check/consequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct change {
    uint64_t run;
    double from, to;
};

struct changes {
    TC_VEC(struct change) items;
};

/* ---- what was changed ------------------------------------------------------------------------ */

/* A number of at least one; 0 if it is none. A bound is told as a text. */
static double read_number(const struct tc_strtab *symbols, tc_sym value)
{
    const char *text = tc_strtab_text(symbols, value);
    const double number = strtod(text + (*text == '"'), NULL);

    return number >= 1 ? number : 0;
}

static void add_change(struct changes *changes, uint64_t run, double from, double to)
{
    const struct change change = {run, from, to};

    if (from && to && from != to)
        tc_vec_push(&changes->items, change);
}

static void add_setting(struct changes *changes, const struct tc_violation *v,
                        const struct tc_strtab *symbols)
{
    static const char result[] = "value";
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);

    if (!fact || fact->attribute != TC_ATTRIBUTE_VALUE || fact->path == TC_NO_SYM ||
        fact->value == TC_NO_SYM || !v->n_outcome ||
        !strncmp(tc_strtab_text(symbols, fact->path), result, strlen(result)))
        return;
    add_change(changes, v->first.run, read_number(symbols, fact->value),
               read_number(symbols, v->outcome[0]));
}

/* ---- what follows ---------------------------------------------------------------------------- */

static bool is_in_proportion(double expected, double seen, double from, double to)
{
    return seen * from == expected * to;
}

static bool is_count_of(double expected, double seen, double from, double to)
{
    const double times = (seen - expected) / (to - from);

    return (times >= 1 && times == (double)(int64_t)times) ||
           is_in_proportion(expected, seen, to, from);
}

static bool accounts_for(const struct change *change, uint32_t attribute, double expected,
                         double seen)
{
    switch (attribute) {
    case TC_ATTRIBUTE_LENGTH:
        return is_in_proportion(expected, seen, change->from, change->to);
    case TC_ATTRIBUTE_GREATEST: /* the last index */
        return is_in_proportion(expected + 1, seen + 1, change->from, change->to);
    case TC_ATTRIBUTE_COUNT:
    case TC_ATTRIBUTE_COUNT_FIRST:
    case TC_ATTRIBUTE_COUNT_LATER:
    case TC_ATTRIBUTE_COUNT_WHERE:
    case TC_ATTRIBUTE_FLOWS:
    case TC_ATTRIBUTE_FLOWS_FIRST:
    case TC_ATTRIBUTE_FLOWS_LATER:
    case TC_ATTRIBUTE_FLOWS_WHERE:
        return is_count_of(expected, seen, change->from, change->to);
    default:
        return false;
    }
}

static bool follows(const struct changes *changes, const struct tc_violation *v,
                    const struct tc_strtab *symbols)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);
    double expected, seen;

    if (!fact || !v->n_outcome || fact->value == TC_NO_SYM)
        return false;
    expected = read_number(symbols, fact->value);
    seen = read_number(symbols, v->outcome[0]);
    for (size_t i = 0; expected && seen && i < changes->items.n; i++)
        if (changes->items.items[i].run == v->first.run &&
            accounts_for(&changes->items.items[i], fact->attribute, expected, seen))
            return true;
    return false;
}

void tc_consequences_mark(struct tc_violation *const *violations, size_t n,
                          const struct tc_strtab *symbols)
{
    struct changes changes = {0};

    for (size_t i = 0; i < n; i++)
        if (violations[i]->is_setting)
            add_setting(&changes, violations[i], symbols);
    for (size_t i = 0; changes.items.n && i < n; i++)
        violations[i]->is_setting |= follows(&changes, violations[i], symbols);
    tc_vec_release(&changes.items);
}
