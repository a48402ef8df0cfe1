/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain.c - by which calls, one on the result of the other, a first operand was made
 *
 * A script that multiplies two sums, each by a number of its own, does so in one context, and both
 * sums are made by one API. What they are sums of tells them apart: so a number is reported once
 * more of the last three calls in a row that made the first operand of its call.
 */
#include "fact/chain.h"

#include "fact/table.h"

/* So many tensors are known by their chains before all are forgotten. */
#define MAX_TENSORS ((size_t)1 << 19)

static struct tc_fact_chain chain_of(const struct tc_fact_watch *w, int64_t serial, tc_sym source)
{
    struct tc_fact_chain chain = {
        {source, TC_NO_SYM, TC_NO_SYM}
    };
    uint64_t number;

    if (tc_map_get(&w->chains, (uint64_t)serial, &number))
        chain = *(const struct tc_fact_chain *)(const void *)tc_strtab_text(w->chain_tuples,
                                                                            (tc_sym)number);
    return chain;
}

static tc_sym name_of(struct tc_strtab *symbols, const struct tc_fact_chain *chain)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    tc_sym name;

    for (size_t i = 0; i < TC_FACT_CHAIN && chain->calls[i] != TC_NO_SYM; i++) {
        tc_strbuf_adds(&text, i ? TC_FACT_CHAINED : "");
        tc_strbuf_adds(&text, tc_strtab_text(symbols, chain->calls[i]));
    }
    name = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return name;
}

void tc_fact_chain_begins(struct tc_facts *facts, struct tc_fact_watch *w,
                          struct tc_fact_open *open, const struct tc_call *call, size_t first)
{
    struct tc_fact_pack *pack = &facts->pack;
    struct tc_subject subject;

    open->chain_subject = UINT32_MAX;
    open->chain = (struct tc_fact_chain){
        {TC_NO_SYM, TC_NO_SYM, TC_NO_SYM}
    };
    if (first >= facts->sources.n || facts->sources.items[first] == TC_NO_SYM)
        return;
    open->chain = chain_of(w, pack->tensors[first], facts->sources.items[first]);
    if (open->by_subject == UINT32_MAX || open->chain.calls[1] == TC_NO_SYM ||
        call->role != TC_ROLE_OPERATOR)
        return;
    subject = tc_fact_table_subject_at(&facts->table, open->subject);
    subject.fields[TC_FACT_BY] = name_of(facts->table.symbols, &open->chain);
    open->chain_subject = tc_fact_table_subject(&facts->table, &subject);
    tc_strbuf_add(&pack->bytes, &open->chain_subject, sizeof(open->chain_subject));
}

/* A chain begins with what is written to an operand, and with one API on its own result: loops do
 * so, and go round more or less often. */
void tc_fact_chain_gives(struct tc_fact_watch *w, const struct tc_fact_open *open, int64_t serial,
                         bool is_operand)
{
    const tc_sym fn = w->labels.items[open->label].fn;
    struct tc_fact_chain chain = {
        {fn, TC_NO_SYM, TC_NO_SYM}
    };

    for (size_t i = 1; i < TC_FACT_CHAIN && !is_operand && open->chain.calls[0] != fn; i++)
        chain.calls[i] = open->chain.calls[i - 1];
    if (w->chains.n >= MAX_TENSORS)
        tc_map_clear(&w->chains);
    tc_map_put(&w->chains, (uint64_t)serial,
               tc_strtab_intern(w->chain_tuples, &chain, sizeof(chain)));
}
