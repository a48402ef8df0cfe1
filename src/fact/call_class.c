/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_class.c - classes of calls that say the same
 *
 * A call is packed (operand_facts.h). If its bytes are known its class is settled at once, else it
 * is read, settled and remembered. What differs from call to call, serials above all, must stay out
 * of the bytes.
 */
#include "fact/call_class.h"

#include "fact/occasion.h"
#include "fact/table.h"

/* An API whose calls go on differing says the same in no two of them: they are read one by one. */
#define MAX_CLASSES 128

static bool may_remember(struct tc_facts *facts, uint32_t subject)
{
    bool is_new;
    uint64_t *n = tc_map_at(&facts->class_counts, subject, &is_new);

    return ++*n <= MAX_CLASSES;
}

struct tc_fact_class *tc_fact_class_of(struct tc_facts *facts)
{
    tc_sym number =
        tc_strtab_find(facts->class_tuples, facts->pack.bytes.text, facts->pack.bytes.size);

    return number == TC_NO_SYM ? NULL : &facts->classes.items[number];
}

/* The entries at hand become the class of the packed call: those that break first. */
static void remember(struct tc_facts *facts)
{
    const struct tc_fact_entries *all = &facts->entries;
    struct tc_fact_class class = {.n = (uint32_t)all->n};
    uint32_t at = 0;

    class.entries = tc_arena_alloc(&facts->table.arena, all->n * sizeof(*all->items) + 1);
    for (unsigned held = 0; held < 2; held++)
        for (size_t i = 0; i < all->n; i++)
            if (held ==
                !(facts->table.is_judging && tc_fact_entry_breaks(&facts->table, &all->items[i])))
                class.entries[at++] = all->items[i];
    while (class.n_broken < class.n && facts->table.is_judging &&
           tc_fact_entry_breaks(&facts->table, &class.entries[class.n_broken]))
        class.n_broken++;
    tc_strtab_intern(facts->class_tuples, facts->pack.bytes.text, facts->pack.bytes.size);
    tc_vec_push(&facts->classes, class);
}

void tc_fact_pack_begins(struct tc_facts *facts, uint32_t subject, char phase)
{
    tc_strbuf_reset(&facts->pack.bytes);
    facts->pack.n_tensors = 0;
    facts->pack.has_content = facts->event->process->has_content;
    facts->pack.has_names = !facts->event->process->left_out;
    tc_strbuf_add(&facts->pack.bytes, &subject, sizeof(subject));
    tc_strbuf_addc(&facts->pack.bytes, phase);
}

/* Learning, a known class is met again. In one window its entries are met once. */
static void meet_class(struct tc_facts *facts, struct tc_fact_class *class)
{
    const struct tc_process *process = facts->event->process;

    if (class->met_in == process && class->met_at == process->window.number)
        return;
    for (uint32_t i = 0; i < class->n; i++)
        tc_fact_meet_window(facts, class->entries[i].slot, 1, NULL);
    class->met_in = process;
    class->met_at = process->window.number;
}

tc_fact_lead tc_fact_settle_class(struct tc_facts *facts, struct tc_fact_class *known,
                                  uint32_t subject, tc_fact_lead cause)
{
    tc_fact_lead lead;

    if (known) {
        known->count++;
        if (!facts->table.is_judging)
            meet_class(facts, known);
        return tc_fact_settle(facts, known->entries, known->n_broken, 1, cause, NULL);
    }
    lead = tc_fact_settle(facts, facts->entries.items, facts->entries.n, 1, cause, NULL);
    if (may_remember(facts, subject))
        remember(facts);
    facts->entries.n = 0;
    return lead;
}
