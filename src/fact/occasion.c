/* SPDX-License-Identifier: Apache-2.0 */
#include "fact/facts.h"

#include <string.h>

#include "fact/attribute.h"
#include "replay/symbols.h"

/* One breach, or n occasions on which the fact held. */
static void tell(struct tc_facts *facts, uint32_t slot, tc_sym value, uint64_t n,
                 tc_fact_lead cause, const struct tc_place *place, const char *origin)
{
    const struct tc_fact_slot *s = &facts->table.slots.items[slot];
    const uint32_t leader = cause & ~TC_FACT_LEAD_SETTING;
    const struct tc_example example = {
        .key = s->key,
        .situation = &tc_no_situation,
        .outcome = &value,
        .n_outcome = 1,
        .n = n,
        .place = place,
        .detail = origin,
        .cause =
            leader && leader != slot + 1 ? facts->table.slots.items[leader - 1].key : TC_SYM_EMPTY,
    };

    facts->sink->example(facts->sink->context, facts->event, &example);
}

/* Early, so that a check that runs knows what holds; the rest is told at the end. */
static void tell_first_held(struct tc_facts *facts, uint32_t slot, const struct tc_place *place)
{
    struct tc_fact_slot *s = &facts->table.slots.items[slot];

    if (s->told)
        return;
    s->told = 1;
    tell(facts, slot, s->fact.value, 1, 0, place, NULL);
}

/* Of what may be chance: if what is told were as frequent in the runs that are learned from,
 * of which there are two, that all five of its breaches fall in a third run as long is one chance
 * in 3^5. */
#define MIN_BREACHES 5

static bool is_told(const struct tc_facts *facts, const struct tc_fact_slot *slot,
                    uint64_t n_broken)
{
    return n_broken >= MIN_BREACHES || !tc_fact_may_be_chance(&slot->fact, facts->table.symbols);
}

/* A breach that may be chance: where it stood is told once there are enough of them. */
static void keep_first(struct tc_facts *facts, struct tc_fact_slot *slot,
                       const struct tc_place *place)
{
    if (slot->first)
        return;
    slot->first = tc_arena_alloc(&facts->table.arena, sizeof(*slot->first));
    if (place)
        *slot->first = *place;
    else
        tc_place_of(facts->event, slot->first);
}

static void judge_broken(struct tc_facts *facts, const struct tc_fact_entry *entry, uint64_t times,
                         tc_fact_lead lead, const struct tc_place *place)
{
    struct tc_fact_slot *slot = &facts->table.slots.items[entry->slot];
    const struct tc_place *first;

    slot->broken += times;
    if (!is_told(facts, slot, slot->broken)) {
        keep_first(facts, slot, place);
        return;
    }
    first = slot->first;
    tell(facts, entry->slot, entry->value, first ? slot->broken : times, lead,
         first ? first : place, tc_fact_origin_of(facts, &slot->fact));
    slot->first = NULL;
}

static void judge(struct tc_facts *facts, const struct tc_fact_entry *entry, uint64_t times,
                  tc_fact_lead lead, const struct tc_place *place)
{
    struct tc_fact_slot *slot = &facts->table.slots.items[entry->slot];

    if (tc_fact_entry_breaks(&facts->table, entry)) {
        judge_broken(facts, entry, times, lead, place);
        return;
    }
    tc_fact_table_count(&facts->table, entry, times);
    if (tc_fact_slot_rule(slot)->of_run && facts->event->call)
        slot->at = tc_call_at(facts->event->call);
    if (!tc_fact_slot_rule(slot)->of_run)
        tell_first_held(facts, entry->slot, place);
}

/* Of what breaks at once the first law leads, or the first setting where no law is broken: a law
 * does not follow from a number that stands beside it. n if nothing breaks. */
static size_t first_broken(const struct tc_facts *facts, const struct tc_fact_entry *entries,
                           size_t n, tc_fact_lead *lead)
{
    size_t first = n;

    for (size_t i = 0; i < n && !tc_fact_lead_is_law(*lead); i++) {
        const struct tc_fact_slot *slot = &facts->table.slots.items[entries[i].slot];
        const struct tc_fact *fact = &slot->fact;
        bool is_setting;
        if (!tc_fact_entry_breaks(&facts->table, &entries[i]) ||
            !is_told(facts, slot, slot->broken + 1))
            continue;
        is_setting = tc_fact_is_setting(fact, facts->table.symbols, entries[i].value);
        if (*lead && is_setting)
            continue;
        *lead = (entries[i].slot + 1) | (is_setting ? TC_FACT_LEAD_SETTING : 0);
        first = i;
    }
    return first;
}

tc_fact_lead tc_fact_settle(struct tc_facts *facts, const struct tc_fact_entry *entries, size_t n,
                            uint64_t times, tc_fact_lead cause, const struct tc_place *place)
{
    tc_fact_lead lead = 0;
    size_t first;

    if (!facts->table.is_judging) {
        for (size_t i = 0; i < n; i++)
            tc_fact_table_count(&facts->table, &entries[i], times);
        return 0;
    }
    first = first_broken(facts, entries, n, &lead);
    lead = lead && cause ? cause : lead;
    if (first < n) /* what leads is told before what follows */
        judge(facts, &entries[first], times, lead, place);
    for (size_t i = 0; i < n; i++)
        if (i != first)
            judge(facts, &entries[i], times, lead, place);
    return lead;
}

/* At the end, of breaches that may be chance: that a fact held on few occasions or on none is not.
 */
static bool is_mostly_broken(const struct tc_facts *facts, const struct tc_fact_slot *slot)
{
    return slot->broken && slot->held < slot->broken && !is_told(facts, slot, slot->broken);
}

void tc_fact_tell_rare(struct tc_facts *facts, uint32_t number, tc_fact_lead cause,
                       const struct tc_place *place)
{
    const struct tc_fact_slot *slot = &facts->table.slots.items[number];

    if (is_mostly_broken(facts, slot))
        tell(facts, number, slot->values[0], slot->broken, cause, slot->first ? slot->first : place,
             NULL);
}

void tc_fact_say(struct tc_facts *facts, const struct tc_subject *subject, tc_sym path,
                 enum tc_attribute attribute, const char *json)
{
    uint32_t number = tc_fact_table_subject(&facts->table, subject);

    tc_fact_table_add(&facts->table, tc_fact_table_slot(&facts->table, number, path, attribute),
                      json, strlen(json), &facts->entries);
}

tc_fact_lead tc_fact_settle_said(struct tc_facts *facts, uint64_t times, tc_fact_lead cause,
                                 const struct tc_place *place)
{
    tc_fact_lead lead =
        tc_fact_settle(facts, facts->entries.items, facts->entries.n, times, cause, place);

    facts->entries.n = 0;
    return lead;
}
