/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occasion.c - entries settled: counted while learning, held against what is expected while
 * judging
 *
 * Of what breaks at once one leads: the first law, else the first setting; it is reported first and
 * the others follow from it. What may be chance is kept and told once there are enough breaches,
 * or at the end. What held is reported once early and as a sum at the end, so a call that holds
 * costs a few additions.
 */
#include "fact/occasion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fact/attribute.h"
#include "fact/origin.h"
#include "fact/pass.h"
#include "fact/table.h"
#include "fact/tensor_content.h"
#include "replay/symbols.h"

/* One breach, or n occasions on which the fact held. */
static void tell_example(struct tc_facts *facts, uint32_t slot, tc_sym value, uint64_t n,
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

/* Early, so that a check that runs knows what holds; the rest is reported at the end. */
static void tell_first_held(struct tc_facts *facts, uint32_t slot, const struct tc_place *place)
{
    struct tc_fact_slot *s = &facts->table.slots.items[slot];

    if (s->told)
        return;
    s->told = 1;
    tell_example(facts, slot, s->fact.value, 1, 0, place, NULL);
}

/* The breaches of one window are one: what a loop samples goes from call to call. */
static struct tc_fact_kept *find_kept(const struct tc_fact_slot *slot, const struct tc_place *place)
{
    for (size_t i = 0; i < slot->kept.n; i++)
        if (slot->kept.items[i].place.file == place->file &&
            slot->kept.items[i].place.window == place->window)
            return &slot->kept.items[i];
    return NULL;
}

/* Of those kept by window, and this one: what ranks break together is one breach. */
static double surprise_of(const struct tc_fact_slot *slot, const struct tc_place *place)
{
    uint64_t windows[TC_FACT_MAX_KEPT + 1];
    size_t n = 0, i = 0;
    bool is_in = false;

    while (i < slot->kept.n || !is_in) {
        const bool is_next =
            !is_in && (i == slot->kept.n || place->window <= slot->kept.items[i].place.window);
        const uint64_t window = is_next ? place->window : slot->kept.items[i++].place.window;
        is_in |= is_next;
        if (!n || windows[n - 1] != window)
            windows[n++] = window;
    }
    return tc_fact_surprise(&slot->learned, windows, n);
}

/* Where it breaks: at *place, or where the event is, which goes to *here. */
static const struct tc_place *place_of_breach(const struct tc_facts *facts,
                                              const struct tc_place *place, struct tc_place *here)
{
    if (place)
        return place;
    tc_place_of(facts->event, here);
    return here;
}

/* Is a breach there told at once? place: NULL where the event is. */
static bool is_breach_told(const struct tc_facts *facts, const struct tc_fact_slot *slot,
                           const struct tc_place *place)
{
    const double doubt = tc_fact_doubt(&slot->fact, facts->table.symbols);
    struct tc_place here;

    if (slot->is_told)
        return true;
    return slot->kept.n < TC_FACT_MAX_KEPT &&
           surprise_of(slot, place_of_breach(facts, place, &here)) >= doubt;
}

/* A breach that may be chance: it is reported once there are enough of them. */
static void keep(struct tc_facts *facts, struct tc_fact_slot *slot, tc_sym value, uint64_t times,
                 tc_fact_lead lead, const struct tc_place *place)
{
    struct tc_fact_kept *same = find_kept(slot, place);
    const char *origin;
    size_t at = slot->kept.n;

    if (same) {
        same->times += times;
        return;
    }
    if (at == TC_FACT_MAX_KEPT)
        return;
    origin = tc_fact_origin_of(facts, &slot->fact);
    const struct tc_fact_kept breach = {
        .place = *place,
        .value = value,
        .origin = origin ? tc_strtab_intern_text(facts->table.symbols, origin) : TC_NO_SYM,
        .times = times,
        .lead = lead};
    tc_vec_push(&slot->kept, breach);
    for (; at > 0 && slot->kept.items[at - 1].place.window > place->window; at--)
        slot->kept.items[at] = slot->kept.items[at - 1];
    slot->kept.items[at] = breach;
}

static void tell_kept(struct tc_facts *facts, uint32_t number, tc_fact_lead lead)
{
    struct tc_fact_slot *slot = &facts->table.slots.items[number];

    for (size_t i = 0; i < slot->kept.n; i++) {
        const struct tc_fact_kept *k = &slot->kept.items[i];
        tell_example(facts, number, k->value, k->times, k->lead ? k->lead : lead, &k->place,
                     k->origin == TC_NO_SYM ? NULL
                                            : tc_strtab_text(facts->table.symbols, k->origin));
    }
    slot->kept.n = 0;
}

static void judge_broken(struct tc_facts *facts, const struct tc_fact_entry *entry, uint64_t times,
                         tc_fact_lead lead, const struct tc_place *place)
{
    struct tc_fact_slot *slot = &facts->table.slots.items[entry->slot];
    struct tc_place here;

    slot->broken += times;
    if (!is_breach_told(facts, slot, place)) {
        keep(facts, slot, entry->value, times, lead, place_of_breach(facts, place, &here));
        return;
    }
    slot->is_told = true;
    tell_kept(facts, entry->slot, lead);
    tell_example(facts, entry->slot, entry->value, times, lead, place,
                 tc_fact_origin_of(facts, &slot->fact));
}

void tc_fact_excuse(struct tc_facts *facts, uint32_t slot, enum tc_excuse excuse)
{
    if (slot != UINT32_MAX && facts->table.is_judging)
        tc_sink_excuse(facts->sink, facts->table.slots.items[slot].key, excuse);
}

/* How many samples are drawn may depend on what was drawn before. So a list that is not short may
 * be nearly as long, and what makes data before training be called nearly as often. */
#define NOT_SHORT (2 * TC_FACT_PARTS)

static bool is_nearly_as_many(const char *number, const char *other)
{
    const double n = strtod(number, NULL), m = strtod(other, NULL);

    return n >= NOT_SHORT && fabs(n - m) * TC_FACT_PARTS <= n;
}

static bool is_nearly(const struct tc_facts *facts, const struct tc_fact *fact, tc_sym seen)
{
    const bool is_amount = fact->attribute == TC_ATTRIBUTE_LENGTH ||
                           (tc_attribute_row(fact->attribute)->is_count &&
                            tc_fact_is_init(fact->subject.fields[TC_FACT_STAGE]));

    return is_amount && is_nearly_as_many(tc_strtab_text(facts->table.symbols, fact->value),
                                          tc_strtab_text(facts->table.symbols, seen));
}

/* Why what breaks the fact is no breach; TC_EXCUSE_NONE where it is one. */
static enum tc_excuse excuse_of(struct tc_facts *facts, const struct tc_fact_entry *entry)
{
    const struct tc_fact *fact = &facts->table.slots.items[entry->slot].fact;

    return is_nearly(facts, fact, entry->value)            ? TC_EXCUSE_NEARLY
           : tc_fact_is_of_pass(facts, fact, entry->value) ? TC_EXCUSE_BATCHES
                                                           : TC_EXCUSE_NONE;
}

static bool breaks(struct tc_facts *facts, const struct tc_fact_entry *entry)
{
    return tc_fact_entry_breaks(&facts->table, entry) && !excuse_of(facts, entry);
}

static void judge_occasion(struct tc_facts *facts, const struct tc_fact_entry *entry,
                           uint64_t times, tc_fact_lead lead, const struct tc_place *place)
{
    enum tc_excuse excuse;

    if (!tc_fact_entry_breaks(&facts->table, entry)) {
        tc_fact_table_count(&facts->table, entry, times);
        tell_first_held(facts, entry->slot, place);
        return;
    }
    excuse = excuse_of(facts, entry);
    if (excuse)
        tc_fact_excuse(facts, entry->slot, excuse);
    else
        judge_broken(facts, entry, times, lead, place);
}

/* Of what breaks at once the first law leads, or the first setting where no law is broken: a law
 * does not follow from a number that stands beside it. n if nothing breaks. */
static size_t first_broken(struct tc_facts *facts, const struct tc_fact_entry *entries, size_t n,
                           const struct tc_place *place, tc_fact_lead *lead)
{
    size_t first = n;

    for (size_t i = 0; i < n && !tc_fact_lead_is_law(*lead); i++) {
        const struct tc_fact_slot *slot = &facts->table.slots.items[entries[i].slot];
        const struct tc_fact *fact = &slot->fact;
        bool is_setting;
        if (!breaks(facts, &entries[i]) || !is_breach_told(facts, slot, place))
            continue;
        is_setting = tc_fact_is_setting(fact, facts->table.symbols, entries[i].value);
        if (*lead && is_setting)
            continue;
        *lead = (entries[i].slot + 1) | (is_setting ? TC_FACT_LEAD_SETTING : 0);
        first = i;
    }
    return first;
}

void tc_fact_meet_window(struct tc_facts *facts, uint32_t slot, uint64_t n,
                         const struct tc_place *place)
{
    const struct tc_process *process = facts->event->process;
    uint64_t *n_windows = &facts->table.slots.items[slot].n_windows, *last;
    bool is_new;

    if (place || !process || facts->event->kind == TC_EVENT_FINISH) {
        *n_windows += n;
        return;
    }
    last = tc_map_at(&tc_fact_watch_of(facts, process)->met, slot, &is_new);
    *n_windows += is_new || *last != process->window.number;
    *last = process->window.number;
}

tc_fact_lead tc_fact_settle(struct tc_facts *facts, const struct tc_fact_entry *entries, size_t n,
                            uint64_t times, tc_fact_lead cause, const struct tc_place *place)
{
    tc_fact_lead lead = 0;
    size_t first;

    if (!facts->table.is_judging) {
        for (size_t i = 0; i < n; i++) {
            tc_fact_meet_window(facts, entries[i].slot, times, place);
            tc_fact_table_count(&facts->table, &entries[i], times);
        }
        return 0;
    }
    first = first_broken(facts, entries, n, place, &lead);
    lead = lead && cause ? cause : lead;
    if (first < n) /* what leads is reported before what follows */
        judge_occasion(facts, &entries[first], times, lead, place);
    for (size_t i = 0; i < n; i++)
        if (i != first) /* what is kept to be reported later follows from what led here */
            judge_occasion(facts, &entries[i], times, lead ? lead : cause, place);
    return lead;
}

void tc_fact_tell_rare(struct tc_facts *facts, uint32_t number, tc_fact_lead cause)
{
    const struct tc_fact_slot *slot = &facts->table.slots.items[number];

    if (slot->held < slot->broken)
        tell_kept(facts, number, cause);
    for (size_t i = 0; i < slot->kept.n; i++)
        tc_fact_excuse(facts, number, TC_EXCUSE_CHANCE);
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
