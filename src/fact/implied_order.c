/* SPDX-License-Identifier: Apache-2.0 */
/*
 * implied_order.c - of facts about which call first comes before which those that follow from two
 * others
 *
 * a before b and b before c need no a before c.
 */
#include "fact/implied_order.h"

#include <string.h>

struct order {
    struct tc_strtab *calls; /* (FN, OF) */
    TC_VEC(uint8_t) before;  /* n × n */
    size_t n;
};

static tc_sym call_number(struct order *o, tc_sym fn, tc_sym of)
{
    const tc_sym pair[2] = {fn, of};

    return tc_strtab_intern(o->calls, pair, sizeof(pair));
}

static void ends_of(struct order *o, const struct tc_strtab *symbols, const struct tc_fact *fact,
                    tc_sym *a, tc_sym *b)
{
    const tc_sym *f = fact->subject.fields;
    tc_sym first = call_number(o, f[TC_FACT_FN], f[TC_FACT_OF]);
    tc_sym second = call_number(o, f[TC_FACT_IN], f[TC_FACT_IN_OF]);
    bool is_before = !strcmp(tc_strtab_text(symbols, fact->value), "true");

    *a = is_before ? first : second;
    *b = is_before ? second : first;
}

static const struct tc_fact *order_at(const struct tc_invariant_set *set, size_t i)
{
    const struct tc_fact *fact = tc_invariant_fact(set->items.items[i]);

    return fact->attribute == TC_ATTRIBUTE_BEFORE ? fact : NULL;
}

void tc_fact_drop_orders(const struct tc_strtab *symbols, const struct tc_invariant_set *set,
                         bool *drop)
{
    struct order o = {.calls = tc_strtab_new()};
    tc_sym a, b;

    for (size_t i = 0; i < set->items.n; i++)
        if (order_at(set, i))
            ends_of(&o, symbols, order_at(set, i), &a, &b);
    o.n = tc_strtab_count(o.calls);
    uint8_t *before = tc_calloc(o.n * o.n + 1, 1);
    for (size_t i = 0; i < set->items.n; i++)
        if (order_at(set, i)) {
            ends_of(&o, symbols, order_at(set, i), &a, &b);
            before[a * o.n + b] = 1;
        }
    for (size_t i = 0; i < set->items.n; i++) {
        if (!order_at(set, i))
            continue;
        ends_of(&o, symbols, order_at(set, i), &a, &b);
        for (size_t k = 0; k < o.n && !drop[i]; k++)
            drop[i] = before[a * o.n + k] && before[k * o.n + b];
    }
    tc_free(before);
    tc_strtab_free(o.calls);
}
