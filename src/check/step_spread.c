/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_spread.c - stretches aligned to a power of two, which doubles where they become too many
 *
 * The power is the least with which all steps fit: it depends on which they are, and on no order.
 */
#include "check/step_spread.h"

#include <stdbool.h>
#include <string.h>

static void join_stretch(struct tc_step_stretch *a, const struct tc_step_stretch *b)
{
    a->first = b->first < a->first ? b->first : a->first;
    a->last = b->last > a->last ? b->last : a->last;
    a->n += b->n;
}

static void widen(struct tc_step_spread *s)
{
    size_t n = 0;

    s->shift++;
    for (size_t i = 0; i < s->n; i++)
        if (n && s->items[n - 1].first >> s->shift == s->items[i].first >> s->shift)
            join_stretch(&s->items[n - 1], &s->items[i]);
        else
            s->items[n++] = s->items[i];
    s->n = n;
}

static bool is_of(const struct tc_step_spread *s, size_t i, int64_t step)
{
    return s->items[i].first >> s->shift == step >> s->shift;
}

static void add_stretch(struct tc_step_spread *s, const struct tc_step_stretch *stretch)
{
    for (;;) {
        size_t i = s->n;
        while (i && s->items[i - 1].first > stretch->first && !is_of(s, i - 1, stretch->first))
            i--;
        if (i && is_of(s, i - 1, stretch->first)) {
            join_stretch(&s->items[i - 1], stretch);
            return;
        }
        if (s->n < TC_SPREAD_STRETCHES) {
            memmove(&s->items[i + 1], &s->items[i], (s->n - i) * sizeof(*s->items));
            s->items[i] = *stretch;
            s->n++;
            return;
        }
        widen(s);
    }
}

void tc_step_spread_add(struct tc_step_spread *spread, int64_t step)
{
    const struct tc_step_stretch stretch = {step, step, 1};

    if (step >= 0)
        add_stretch(spread, &stretch);
}

void tc_step_spread_join(struct tc_step_spread *spread, const struct tc_step_spread *other)
{
    while (spread->shift < other->shift)
        widen(spread);
    for (size_t i = 0; i < other->n; i++)
        add_stretch(spread, &other->items[i]);
}
