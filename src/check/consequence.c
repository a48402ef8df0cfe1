/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consequence.c - a batch of 64 for one of 32 makes lists of 64, and calls for each element
 *
 * A changed setting is a pair of numbers: what a call was given, or one dimension of a shape. A law
 * about an amount that breaks as the pair says follows from it: a length in the same proportion,
 * the last index of it, a count that rises by a multiple of the difference or falls in proportion,
 * as there are half as many batches. What a call computes over, or how, is no amount.
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

/* A number of at least one from here on; where it ends goes to *end. 0 if there is none. */
static double read_number(const char *text, const char **end)
{
    char *after;
    const double number = strtod(text, &after);

    *end = after;
    return after > text && number >= 1 ? number : 0;
}

static void add_change(struct changes *changes, uint64_t run, double from, double to)
{
    const struct change change = {run, from, to};

    if (from && to && from != to)
        tc_vec_push(&changes->items, change);
}

/* "[64,3,8]" beside "[32,3,8]": each dimension that differs. */
static void add_dimensions(struct changes *changes, uint64_t run, const char *from, const char *to)
{
    while (*from == '[' || *from == ',') {
        const double a = read_number(from + 1, &from), b = read_number(to + 1, &to);
        add_change(changes, run, a, b);
    }
}

static void add_setting(struct changes *changes, const struct tc_violation *v,
                        const struct tc_strtab *symbols)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);
    const char *from, *to, *end;

    if (!fact || !v->n_outcome || fact->value == TC_NO_SYM)
        return;
    from = tc_strtab_text(symbols, fact->value);
    to = tc_strtab_text(symbols, v->outcome[0]);
    if (fact->attribute == TC_ATTRIBUTE_SHAPE)
        add_dimensions(changes, v->first.run, from, to);
    else if (fact->attribute == TC_ATTRIBUTE_VALUE)
        add_change(changes, v->first.run, read_number(from, &end), read_number(to, &end));
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
    const char *text, *end;
    double expected, seen;

    if (!fact || !v->n_outcome || fact->value == TC_NO_SYM)
        return false;
    text = tc_strtab_text(symbols, v->outcome[0]);
    expected = read_number(tc_strtab_text(symbols, fact->value), &end);
    seen = read_number(text + (*text == '"'), &end); /* a bound is told as a text */
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
