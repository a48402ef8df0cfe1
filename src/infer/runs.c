/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs.c - facts whose value was one in each run and another in a second run
 *
 * One pass over the rows of facts: two values for a key are enough. A value that varies within one
 * run is no fact of any and is passed over.
 */
#include "infer/runs.h"

#include <string.h>

#include "fact/phrase.h"
#include "fact/source.h"
#include "fact/words.h"

/* The rows of one fact, by the number of its key. */
struct slot {
    const struct tc_row *first, *second;
    bool varies; /* within a run, so that it is no fact of any */
};

static bool shares_run(const struct tc_row *a, const struct tc_row *b)
{
    for (size_t i = 0; i < a->pipelines.n; i++)
        for (size_t j = 0; j < b->pipelines.n; j++)
            if (a->pipelines.items[i] == b->pipelines.items[j])
                return true;
    return false;
}

static void meet_row(struct slot *slot, const struct tc_row *row)
{
    if (!slot->first)
        slot->first = row;
    else if (!slot->second)
        slot->second = row;
    slot->varies |= slot->first != row && shares_run(slot->first, row);
    slot->varies |= slot->second && slot->second != row && shares_run(slot->second, row);
}

static tc_sym value_of(const struct tc_evidence *evidence, const struct tc_row *row)
{
    size_t n;
    const tc_sym *outcome = tc_row_outcome(evidence, row, &n);

    return n ? outcome[0] : TC_NO_SYM;
}

/* "seed of backward() is 1 in training; in another run: 2" */
static void describe(const struct tc_evidence *evidence, const struct slot *slot,
                     struct tc_strbuf *text)
{
    struct tc_strtab *symbols = evidence->symbols;
    tc_sym key = slot->first->key;
    struct tc_fact fact;

    if (!tc_fact_of_key(&fact, symbols, tc_strtab_text(symbols, key), tc_strtab_size(symbols, key)))
        return;
    fact.value = value_of(evidence, slot->first);
    tc_fact_describe(&fact, symbols, text);
    tc_strbuf_adds(text, "; in another run: ");
    tc_phrase_value(symbols, &fact, value_of(evidence, slot->second), text);
}

static void note(uint64_t n, const char *example, const struct tc_gathered *gathered,
                 struct tc_notes *notes)
{
    const char *such_as = n == 1 ? ":" : ", such as";
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (gathered->has_seeds)
        tc_strbuf_addf(&text, " the seed: %lld and %lld", (long long)gathered->seeds[0],
                       (long long)gathered->seeds[1]);
    else
        tc_strbuf_addf(&text, " %s", example);
    tc_notes_add(notes, "differs", "", 0, "%llu value%s between the runs and %s not learned%s%s",
                 (unsigned long long)n, n == 1 ? " differs" : "s differ", n == 1 ? "is" : "are",
                 such_as, text.text);
    tc_strbuf_release(&text);
}

uint64_t tc_runs_compare(const struct tc_evidence *evidence, const struct tc_gathered *gathered,
                         struct tc_notes *notes)
{
    uint32_t source = tc_source_number(&tc_source_facts);
    struct tc_map numbers = TC_MAP_INIT;
    TC_VEC(struct slot) slots = {0};
    struct tc_strbuf example = TC_STRBUF_INIT;
    uint64_t n = 0;
    bool is_new;

    for (size_t i = 0; i < evidence->rows.n; i++) {
        const struct tc_row *row = &evidence->rows.items[i];
        if (row->source != source)
            continue;
        uint64_t *number = tc_map_at(&numbers, row->key, &is_new);
        if (is_new) {
            *number = slots.n;
            tc_vec_push(&slots, (struct slot){0});
        }
        meet_row(&slots.items[*number], row);
    }
    for (size_t i = 0; i < slots.n; i++) {
        if (!slots.items[i].second || slots.items[i].varies)
            continue;
        if (!n++)
            describe(evidence, &slots.items[i], &example);
    }
    if (n)
        note(n, example.text ? example.text : "", gathered, notes);
    tc_strbuf_release(&example);
    tc_map_release(&numbers);
    tc_vec_release(&slots);
    return n;
}
