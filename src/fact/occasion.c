#include "fact/facts.h"

#include <string.h>

#include "base/banned.h"
#include "fact/attribute.h"
#include "replay/symbols.h"

static const struct tc_situation no_situation = {.n = 0};

/* One breach, or n occasions on which the fact held. */
static void tell(struct tc_facts *facts, uint32_t slot, tc_sym value, uint64_t n,
                 tc_fact_lead cause, const struct tc_place *place)
{
    const struct tc_fact_slot *s = &facts->table.slots.items[slot];
    const uint32_t leader = cause & ~TC_FACT_LEAD_SETTING;
    const struct tc_example example = {
        .key = s->key,
        .situation = &no_situation,
        .outcome = &value,
        .n_outcome = 1,
        .n = n,
        .place = place,
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
    tell(facts, slot, s->fact.value, 1, 0, place);
}

static void judge(struct tc_facts *facts, const struct tc_fact_entry *entry, uint64_t times,
                  tc_fact_lead *lead, const struct tc_place *place)
{
    struct tc_fact_slot *slot = &facts->table.slots.items[entry->slot];

    if (!tc_fact_entry_breaks(&facts->table, entry)) {
        tc_fact_table_count(&facts->table, entry, times);
        tell_first_held(facts, entry->slot, place);
        return;
    }
    slot->broken += times;
    if (!*lead)
        *lead =
            (entry->slot + 1) | (tc_fact_is_setting(&slot->fact, facts->table.symbols, entry->value)
                                     ? TC_FACT_LEAD_SETTING
                                     : 0);
    tell(facts, entry->slot, entry->value, times, *lead, place);
}

tc_fact_lead tc_fact_settle(struct tc_facts *facts, const struct tc_fact_entry *entries, size_t n,
                            uint64_t times, tc_fact_lead cause, const struct tc_place *place)
{
    tc_fact_lead lead = cause;
    bool is_broken = false;

    for (size_t i = 0; i < n; i++) {
        is_broken |= facts->table.is_judging && tc_fact_entry_breaks(&facts->table, &entries[i]);
        if (facts->table.is_judging)
            judge(facts, &entries[i], times, &lead, place);
        else
            tc_fact_table_count(&facts->table, &entries[i], times);
    }
    return is_broken ? lead : 0;
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
