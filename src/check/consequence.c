/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consequence.c - a batch of 64 for one of 32 makes lists of 64, and calls for each element
 *
 * A changed setting is a pair of numbers that a call was given, or that its receiver has. The form
 * of a law says whether what was seen follows from such a pair: if it is about an amount or a size.
 * What a call computes over, or how, is no amount. Nor does an amount follow from a shape: that is
 * another one, too, where elements were lost or calls left out. A call that is so given another
 * size may do nothing with it, or meet what is alike by chance; and a loop over another number of
 * things is followed by its end sooner or later.
 */
#include "check/consequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "check/change.h"

struct pairs {
    TC_VEC(struct tc_chosen) items;
};

static bool is_of_result(const struct tc_violation *v, const struct tc_strtab *symbols)
{
    static const char result[] = "value";

    return !strncmp(tc_strtab_text(symbols, tc_invariant_fact(v->invariant)->path), result,
                    strlen(result));
}

/* One change stands in many places, and is one pair. */
static void add_pair(struct pairs *pairs, const struct tc_chosen *pair)
{
    if (pair->from < 1 || pair->to < 1 || pair->from == pair->to)
        return;
    for (size_t i = 0; i < pairs->items.n; i++) {
        const struct tc_chosen *known = &pairs->items.items[i];
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
        add_pair(pairs, &(struct tc_chosen){change.run, strtod(change.from.text, NULL),
                                            strtod(change.to.text, NULL)});
}

static bool follows(const struct pairs *pairs, const struct tc_violation *v,
                    const struct tc_strtab *symbols)
{
    const double share = (double)v->count / (double)(v->count + v->held);

    for (size_t i = 0; v->relation->follows && v->n_outcome && i < pairs->items.n; i++) {
        const struct tc_chosen *pair = &pairs->items.items[i];
        if (pair->run == v->first.run &&
            v->relation->follows(symbols, v->invariant, v->outcome[0], share, pair->from, pair->to))
            return true;
    }
    return false;
}

/* ---- calls that are given another size ------------------------------------------------------ */

/* The call of a run that the fact is about. */
static uint64_t call_of(const struct tc_violation *v)
{
    struct tc_subject call = tc_invariant_fact(v->invariant)->subject;

    call.fields[TC_FACT_NAME] = TC_NO_SYM;
    return tc_hash64(&call, sizeof(call), v->first.run);
}

/* The API of what flows into a call, or of the call, in a run. */
static uint64_t api_of(const struct tc_violation *v)
{
    const tc_sym *fields = tc_invariant_fact(v->invariant)->subject.fields;
    const tc_sym api[] = {fields[TC_FACT_FN], fields[TC_FACT_OF], fields[TC_FACT_STAGE]};

    return tc_hash64(api, sizeof(api), v->first.run);
}

/* An element of a list is another one where the list has another length. */
static void add_sized(struct tc_map *sized, const struct tc_violation *v)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);

    if (fact->subject.kind == TC_SUBJECT_CALL)
        tc_map_put(sized, call_of(v), 1);
    if (fact->attribute == TC_ATTRIBUTE_LENGTH)
        tc_map_put(sized, api_of(v), 1);
}

static bool is_sized(const struct tc_map *sized, const struct tc_violation *v)
{
    uint64_t ignored;

    return v->relation->is_of_size && v->relation->is_of_size(v->invariant) &&
           (tc_map_get(sized, call_of(v), &ignored) || tc_map_get(sized, api_of(v), &ignored));
}

/* Does it say what comes next, which is another call where a loop is over? */
static bool is_of_loop(const struct tc_violation *v)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);

    return fact && fact->subject.kind == TC_SUBJECT_INSIDE;
}

void tc_consequences_mark(struct tc_violation *const *violations, size_t n,
                          const struct tc_chosen *chosen, size_t n_chosen,
                          const struct tc_strtab *symbols)
{
    struct tc_map sized = TC_MAP_INIT;
    struct pairs pairs = {0};
    size_t n_follow = 0;

    for (size_t i = 0; i < n_chosen; i++)
        add_pair(&pairs, &chosen[i]);
    for (size_t i = 0; i < n; i++)
        add_setting(&pairs, violations[i], symbols);
    for (size_t i = 0; pairs.items.n && i < n; i++)
        if (follows(&pairs, violations[i], symbols)) {
            violations[i]->is_setting = true;
            add_sized(&sized, violations[i]);
            n_follow++;
        }
    for (size_t i = 0; n_follow && i < n; i++)
        violations[i]->is_setting |= is_of_loop(violations[i]) || is_sized(&sized, violations[i]);
    tc_map_release(&sized);
    tc_vec_release(&pairs.items);
}
