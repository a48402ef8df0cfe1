/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawn.c - what a script does in steps that it draws: of its first step nothing follows
 *
 * A branch with a chance of one half is taken in the first step of both runs in every fourth pair.
 * Whether it is one can be seen from the later steps: what is done by a rule is the same in all of
 * them, or changes a few times, or comes again after a while.
 */
#include "fact/drawn.h"

#include <string.h>

#include "base/hash.h"
#include "fact/call_subject.h"
#include "fact/counter.h"
#include "fact/occasion.h"
#include "fact/table.h"
#include "fact/tensor_content.h"

void tc_fact_sequence_add(struct tc_facts *facts, struct tc_fact_sequence **sequence,
                          uint64_t window, const void *bytes, size_t size)
{
    struct tc_fact_sequence *s = *sequence;

    if (facts->table.is_judging || !window || window > TC_FACT_SEQUENCE)
        return;
    if (!s)
        s = *sequence = memset(tc_arena_alloc(&facts->table.arena, sizeof(*s)), 0, sizeof(*s));
    s->values[window - 1] = (uint32_t)tc_hash64(bytes, size, 0);
}

/* So many changes are phases of a training, and its reports. */
#define MAX_CHANGES 4

static bool has_period(const struct tc_fact_sequence *s, size_t n, size_t period)
{
    for (size_t i = period; i < n; i++)
        if (s->values[i] != s->values[i - period])
            return false;
    return true;
}

static bool is_drawn(const struct tc_fact_sequence *s, uint64_t n_windows)
{
    const size_t n_later = n_windows ? (size_t)n_windows - 1 : 0;
    const size_t n = n_later < TC_FACT_SEQUENCE ? n_later : TC_FACT_SEQUENCE;
    size_t n_changes = 0;

    if (!s || n < TC_FACT_ENOUGH)
        return false;
    for (size_t i = 1; i < n; i++)
        n_changes += s->values[i] != s->values[i - 1];
    if (n_changes <= MAX_CHANGES)
        return false;
    for (size_t period = 2; period <= n / 2; period++)
        if (has_period(s, n, period))
            return false;
    return true;
}

/* Learning, at the end of a run: how often a call is made by the end of the first step, and which
 * variables are changed, has one more value. */
void tc_fact_take_back_drawn(struct tc_facts *facts, struct tc_fact_watch *w)
{
    struct tc_subject changes = tc_subject_of(TC_SUBJECT_CHANGES);

    for (size_t i = 0; i < w->counters.n; i++) {
        struct tc_fact_counter *c = &w->counters.items[i];
        if (!is_drawn(c->sequence, w->n_windows))
            continue;
        tc_fact_table_add(&facts->table, tc_fact_counter_slot(facts, c, TC_FACT_TALLY_FIRST),
                          TC_FACT_DRAWN, strlen(TC_FACT_DRAWN), &facts->entries);
    }
    for (size_t i = 0; i < w->changes.n; i++) {
        const struct tc_fact_changes *c = &w->changes.items[i];
        if (!is_drawn(c->sequence, w->n_windows))
            continue;
        changes.fields[TC_FACT_FN] = c->by;
        changes.fields[TC_FACT_NAME] = c->number;
        tc_fact_say(facts, &changes, TC_NO_SYM, TC_ATTRIBUTE_DATA_FIRST, TC_FACT_DRAWN);
    }
}
