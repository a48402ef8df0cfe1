/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - what was seen of each fact, or is expected of it
 *
 * A slot (slot.h) is found by its subject and its attribute, each a small number.
 */
#ifndef TC_FACT_TABLE_H
#define TC_FACT_TABLE_H

#include "base/map.h"
#include "base/vec.h"
#include "fact/attribute.h"
#include "fact/slot.h"

/* What one occasion says of one slot. */
struct tc_fact_entry {
    uint32_t slot;
    tc_sym value;
};

struct tc_fact_entries {
    struct tc_fact_entry *items;
    size_t n, cap;
};

struct tc_fact_table {
    struct tc_strtab *symbols; /* borrowed */
    struct tc_strtab *subjects, *attributes;
    struct tc_map places; /* (subject, attribute) → its slot, plus one */
    TC_VEC(struct tc_fact_slot) slots;
    struct tc_arena arena;
    bool is_judging; /* then only slots that are expected count */
};

void tc_fact_table_init(struct tc_fact_table *table);
void tc_fact_table_release(struct tc_fact_table *table);

uint32_t tc_fact_table_subject(struct tc_fact_table *table, const struct tc_subject *subject);
/* The subject of that number. */
struct tc_subject tc_fact_table_subject_at(const struct tc_fact_table *table, uint32_t number);
/* The slot of that number; UINT32_MAX where judging expects nothing of it. */
uint32_t tc_fact_table_slot(struct tc_fact_table *table, uint32_t subject, tc_sym path,
                            enum tc_attribute attribute);
/* Judge by this fact. */
void tc_fact_table_expect(struct tc_fact_table *table, const struct tc_fact *fact,
                          const struct tc_fact_record *learned);

/* Say that the slot had this value, given as JSON text. Nothing is added where it does not matter.
 */
void tc_fact_table_add(struct tc_fact_table *table, uint32_t slot, const char *json, size_t size,
                       struct tc_fact_entries *out);
/* Does the entry break what is expected? */
bool tc_fact_entry_breaks(const struct tc_fact_table *table, const struct tc_fact_entry *entry);
/* Count the entry n times. */
void tc_fact_table_count(struct tc_fact_table *table, const struct tc_fact_entry *entry,
                         uint64_t n);

#endif /* TC_FACT_TABLE_H */
