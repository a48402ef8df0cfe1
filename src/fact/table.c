/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - slots by subject and attribute, and their values
 *
 * A place is a number made of three small ones, so a look-up is one of a map. Of the values of a
 * slot the first by their letters stay, which does not depend on the order of files. When judging,
 * tc_fact_table_expect() comes before all else, and slots that no fact expects are not made.
 */
#include "fact/table.h"

#include <string.h>

#include "fact/attribute.h"
#include "fact/slot.h"
#include "fact/tensor_content.h"

void tc_fact_table_init(struct tc_fact_table *table)
{
    *table = (struct tc_fact_table){.subjects = tc_strtab_new(), .attributes = tc_strtab_new()};
}

void tc_fact_table_release(struct tc_fact_table *table)
{
    tc_strtab_free(table->subjects);
    tc_strtab_free(table->attributes);
    tc_map_release(&table->places);
    for (size_t i = 0; i < table->slots.n; i++)
        tc_vec_release(&table->slots.items[i].kept);
    tc_vec_release(&table->slots);
    tc_arena_release(&table->arena);
}

uint32_t tc_fact_table_subject(struct tc_fact_table *table, const struct tc_subject *subject)
{
    return tc_strtab_intern(table->subjects, subject, sizeof(*subject));
}

static const struct tc_subject *subject_of(const struct tc_fact_table *table, uint32_t subject)
{
    return (const void *)tc_strtab_text(table->subjects, subject);
}

struct tc_subject tc_fact_table_subject_at(const struct tc_fact_table *table, uint32_t number)
{
    return *subject_of(table, number);
}

/* Numbers stay small: a few thousand subjects, a few hundred attributes. */
static uint64_t slot_of_attribute(struct tc_fact_table *table, uint32_t subject, tc_sym path,
                                  enum tc_attribute attribute)
{
    const uint32_t pair[2] = {path, (uint32_t)attribute};

    return (uint64_t)subject << 32 | tc_strtab_intern(table->attributes, pair, sizeof(pair));
}

static uint32_t add_slot(struct tc_fact_table *table, const struct tc_fact *fact)
{
    struct tc_fact_slot slot = {.fact = *fact, .key = TC_NO_SYM};

    tc_vec_push(&table->slots, slot);
    return (uint32_t)table->slots.n - 1;
}

uint32_t tc_fact_table_slot(struct tc_fact_table *table, uint32_t subject, tc_sym path,
                            enum tc_attribute attribute)
{
    uint64_t place = slot_of_attribute(table, subject, path, attribute), known;

    if (tc_map_get(&table->places, place, &known))
        return (uint32_t)known - 1;
    if (table->is_judging)
        return UINT32_MAX;
    const struct tc_fact fact = {.subject = *subject_of(table, subject),
                                 .path = path,
                                 .attribute = (uint32_t)attribute,
                                 .value = TC_NO_SYM};
    uint32_t slot = add_slot(table, &fact);
    tc_map_put(&table->places, place, (uint64_t)slot + 1);
    return slot;
}

void tc_fact_table_expect(struct tc_fact_table *table, const struct tc_fact *fact,
                          const struct tc_fact_record *learned)
{
    bool is_new;
    uint64_t *known =
        tc_map_at(&table->places,
                  slot_of_attribute(table, tc_fact_table_subject(table, &fact->subject), fact->path,
                                    (enum tc_attribute)fact->attribute),
                  &is_new);

    table->is_judging = true;
    if (is_new) {
        *known = (uint64_t)add_slot(table, fact) + 1;
        table->slots.items[*known - 1].key = tc_fact_key_symbol(fact, table->symbols);
        table->slots.items[*known - 1].learned = *learned;
    }
    struct tc_fact_slot *slot = &table->slots.items[*known - 1];
    slot->is_mixed |= slot->fact.value != fact->value;
}

static bool is_known(const struct tc_fact_slot *slot, tc_sym value)
{
    for (unsigned i = 0; i < slot->n_values; i++)
        if (slot->values[i] == value)
            return true;
    return false;
}

/* After so many breaches of one slot a new value is no news: what it was last stands for it. */
#define MAX_VALUES_TOLD 1000

/* The place of the value that gives way to this one; TC_FACT_VALUES if none does. */
static unsigned last_value(const struct tc_fact_table *table, const struct tc_fact_slot *slot,
                           const char *json)
{
    const char *texts[TC_FACT_VALUES];
    unsigned last = 0;

    for (unsigned i = 0; i < TC_FACT_VALUES; i++) {
        texts[i] = tc_strtab_text(table->symbols, slot->values[i]);
        last = strcmp(texts[i], texts[last]) > 0 ? i : last;
    }
    return strcmp(json, texts[last]) < 0 ? last : TC_FACT_VALUES;
}

void tc_fact_table_add(struct tc_fact_table *table, uint32_t number, const char *json, size_t size,
                       struct tc_fact_entries *out)
{
    if (number == UINT32_MAX)
        return;
    struct tc_fact_slot *slot = &table->slots.items[number];
    tc_sym value = tc_strtab_find(table->symbols, json, size);

    if (!table->is_judging && slot->n_values == TC_FACT_VALUES && !is_known(slot, value) &&
        last_value(table, slot, json) == TC_FACT_VALUES)
        return; /* it varies, and this value will not be kept */
    if (value == TC_NO_SYM && slot->broken >= MAX_VALUES_TOLD)
        value = slot->values[0];
    if (value == TC_NO_SYM)
        value = tc_strtab_intern(table->symbols, json, size);
    if (table->is_judging && value != slot->fact.value)
        slot->values[0] = value;
    tc_vec_push(out, ((struct tc_fact_entry){number, value}));
}

bool tc_fact_entry_breaks(const struct tc_fact_table *table, const struct tc_fact_entry *entry)
{
    const struct tc_fact_slot *slot = &table->slots.items[entry->slot];

    return slot->is_mixed || entry->value != slot->fact.value;
}

/* A value that is among those kept in the end was among them from its first occasion on. */
static unsigned place_for(const struct tc_fact_table *table, struct tc_fact_slot *slot,
                          tc_sym value)
{
    unsigned i = 0;

    while (i < slot->n_values && slot->values[i] != value)
        i++;
    if (i < slot->n_values)
        return i;
    if (i < TC_FACT_VALUES)
        slot->n_values++;
    else
        i = last_value(table, slot, tc_strtab_text(table->symbols, value));
    if (i < TC_FACT_VALUES) {
        slot->values[i] = value;
        slot->n[i] = 0;
    }
    return i;
}

void tc_fact_table_count(struct tc_fact_table *table, const struct tc_fact_entry *entry, uint64_t n)
{
    struct tc_fact_slot *slot = &table->slots.items[entry->slot];

    if (table->is_judging) {
        slot->held += n;
        return;
    }
    unsigned i = place_for(table, slot, entry->value);
    if (i < TC_FACT_VALUES)
        slot->n[i] += n;
}
