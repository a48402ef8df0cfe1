/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker.c - which calls made the tensors, and what of them a model computed
 *
 * A tensor is known by its serial. Its maker is a word: the call, its place in a row and among the
 * results of that, and the models that had a part in it (flow.c, facts.h). The tables are bounded:
 * what is forgotten makes a fact have no occasion, never a breach.
 */
#include "fact/maker.h"

/* So many tensors are known by their makers before the oldest are forgotten. */
#define MAX_PRODUCERS ((size_t)1 << 19)

void tc_fact_produce(struct tc_fact_watch *w, int64_t serial, uint64_t word)
{
    w->latest = serial > w->latest ? serial : w->latest;
    if (w->producers.n >= MAX_PRODUCERS) {
        struct tc_map old = w->old_producers;
        uint64_t known, value;
        for (size_t pos = 0; tc_map_each(&old, &pos, &known, &value);)
            w->horizon = (int64_t)known > w->horizon ? (int64_t)known : w->horizon;
        tc_map_clear(&old);
        w->old_producers = w->producers;
        w->producers = old;
        tc_map_clear(&w->choices); /* most are of tensors as old */
    }
    tc_map_put(&w->producers, (uint64_t)serial, word);
}

/* Who is asked for stays known. */
static tc_sym source_of(struct tc_facts *facts, struct tc_fact_watch *w, int64_t serial)
{
    const struct tc_variable *variable;
    uint64_t word;

    if (tc_map_get(&w->producers, (uint64_t)serial, &word))
        return (tc_sym)word;
    if (tc_map_get(&w->old_producers, (uint64_t)serial, &word)) {
        tc_fact_produce(w, serial, word);
        return (tc_sym)word;
    }
    variable = tc_process_variable(w->process, serial);
    if (variable)
        return variable->kind;
    return w->process->is_sampled || serial <= w->horizon || w->is_hazy ||
                   (facts->table.is_judging && w->cut.n && serial > w->cut_after)
               ? TC_NO_SYM /* it may have been made by what is left out */
               : tc_strtab_intern_text(facts->table.symbols, "outside");
}

uint64_t tc_fact_producer(const struct tc_fact_watch *w, int64_t serial)
{
    uint64_t word;

    return tc_map_get(&w->producers, (uint64_t)serial, &word) ||
                   tc_map_get(&w->old_producers, (uint64_t)serial, &word)
               ? word
               : 0;
}

static bool is_computed(const struct tc_fact_watch *w, int64_t serial)
{
    const uint64_t word = tc_fact_producer(w, serial);

    return word ? (word & TC_FACT_COMPUTED) != 0 : tc_process_variable(w->process, serial) != NULL;
}

/* Which operands a model computed: their content is another one as training goes on. */
bool tc_fact_find_computed(const struct tc_fact_watch *w, struct tc_fact_pack *pack, bool are_all)
{
    bool has_any = false;

    for (size_t i = 0; i < pack->n_tensors; i++) {
        pack->is_computed[i] |= are_all || is_computed(w, pack->tensors[i]);
        tc_strbuf_addc(&pack->bytes, pack->is_computed[i] ? 'c' : '-');
        has_any |= pack->is_computed[i];
    }
    return has_any;
}

/* What is computed of a model's choices alone, as how many were right, is one of them. */
bool tc_fact_find_choices(const struct tc_fact_watch *w, struct tc_fact_pack *pack, bool are_all)
{
    bool is_one = pack->n_tensors > 0, has_computed = false;
    uint64_t ignored;

    for (size_t i = 0; i < pack->n_tensors; i++) {
        pack->is_choice[i] =
            are_all || tc_map_get(&w->choices, (uint64_t)pack->tensors[i], &ignored);
        tc_strbuf_addc(&pack->bytes, pack->is_choice[i] ? 'o' : '-');
        is_one &= pack->is_choice[i] || pack->is_counted[i];
        has_computed |= pack->is_computed[i];
    }
    return is_one && has_computed;
}

void tc_fact_find_sources(struct tc_facts *facts, struct tc_fact_watch *w,
                          const struct tc_fact_pack *pack)
{
    facts->sources.n = 0;
    for (size_t i = 0; i < pack->n_tensors && i < TC_FACT_SOURCES; i++)
        tc_vec_push(&facts->sources, source_of(facts, w, pack->tensors[i]));
}
