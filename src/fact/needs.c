/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.c - which invariants of facts need operators or content, from examples that say what a
 * trace had
 *
 * Learning tells what each trace was asked for as examples of two keys beside those of the facts.
 * After mining each fact is asked whether its words name an operator, follow chains of calls or
 * compare contents; what it needs is written with it, and a trace without is not judged by it.
 */
#include "fact/needs.h"

#include <string.h>

#include "fact/attribute.h"
#include "fact/facts.h"
#include "replay/symbols.h"

/* Keys of examples that are no facts. */
#define KEY_OPERATORS "operators"
#define KEY_CONTENT   "content"

/* ---- learning ------------------------------------------------------------------------------- */

static void tell_need(struct tc_facts *facts, const char *key, tc_sym value)
{
    const struct tc_example example = {.key = tc_strtab_intern_text(facts->table.symbols, key),
                                       .situation = &tc_no_situation,
                                       .outcome = &value,
                                       .n_outcome = 1};

    facts->sink->example(facts->sink->context, facts->event, &example);
}

void tc_fact_tell_needs(struct tc_facts *facts, const struct tc_fact_watch *w)
{
    if (w->process->has_content)
        tell_need(facts, KEY_CONTENT, w->process->has_full_content ? TC_SYM_TRUE : TC_SYM_FALSE);
    if (!w->process->has_operators)
        return;
    tell_need(facts, KEY_OPERATORS, TC_SYM_EMPTY);
    for (size_t i = 0; i < w->labels.n; i++)
        if (w->labels.items[i].is_operator)
            tell_need(facts, KEY_OPERATORS, w->labels.items[i].fn);
}

/* ---- what each fact needs ------------------------------------------------------------------- */

struct told {
    bool has_operators, has_content, has_full_content;
    struct tc_map operators; /* their symbols */
};

static void on_operator(void *context, const struct tc_example *row)
{
    struct told *told = context;

    told->has_operators = true;
    for (size_t i = 0; i < row->n_outcome; i++)
        if (row->outcome[i] != TC_SYM_EMPTY)
            tc_map_put(&told->operators, row->outcome[i], 1);
}

static void on_content(void *context, const struct tc_example *row)
{
    struct told *told = context;

    told->has_content = true;
    told->has_full_content |= row->n_outcome && row->outcome[0] == TC_SYM_TRUE;
}

static bool is_operator(const struct told *told, tc_sym name)
{
    uint64_t ignored;

    return name != TC_NO_SYM && tc_map_get(&told->operators, name, &ignored);
}

/* A source is the name of a call in quotation marks. */
static bool comes_from_operator(const struct told *told, const struct tc_strtab *symbols,
                                const struct tc_fact *fact)
{
    const size_t size = tc_strtab_size(symbols, fact->value);

    return fact->attribute == TC_ATTRIBUTE_SOURCE && size > 2 &&
           is_operator(told,
                       tc_strtab_find(symbols, tc_strtab_text(symbols, fact->value) + 1, size - 2));
}

static bool names_operator(const struct told *told, const struct tc_strtab *symbols,
                           const struct tc_fact *fact)
{
    const tc_sym *fields = fact->subject.fields;

    /* Without operators whatever they made came from outside. */
    if (fact->subject.kind == TC_SUBJECT_CALL && fields[TC_FACT_BY] != TC_NO_SYM)
        return true;
    return is_operator(told, fields[TC_FACT_FN]) || is_operator(told, fields[TC_FACT_IN]) ||
           is_operator(told, fields[TC_FACT_BY]) || comes_from_operator(told, symbols, fact);
}

/* Without the operators among them a chain of calls ends, and a tensor is taken for one of the
 * script's data. */
static bool follows_chains(const struct tc_fact *fact)
{
    return fact->subject.kind == TC_SUBJECT_FLOW || tc_attribute_row(fact->attribute)->is_of_chain;
}

static unsigned needs_of(const struct told *told, const struct tc_strtab *symbols,
                         const struct tc_fact *fact)
{
    const unsigned needs =
        told->has_operators && (names_operator(told, symbols, fact) || follows_chains(fact))
            ? TC_NEED_BIT(TC_NEED_OPERATORS)
            : 0;

    switch (tc_attribute_row(fact->attribute)->asks) {
    case TC_ASKS_SAME:
        return needs | (!told->has_content       ? 0
                        : told->has_full_content ? TC_NEED_BIT(TC_NEED_CONTENT_FULL)
                                                 : TC_NEED_BIT(TC_NEED_CONTENT_BATCHES));
    case TC_ASKS_CONTENT:
        return needs | (told->has_content ? TC_NEED_BIT(TC_NEED_CONTENT) : 0);
    case TC_ASKS_NOTHING:
        break;
    }
    return needs;
}

void tc_fact_find_needs(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    struct told told = {0};

    rows->each(rows, tc_strtab_intern_text(rows->symbols, KEY_OPERATORS), on_operator, &told);
    rows->each(rows, tc_strtab_intern_text(rows->symbols, KEY_CONTENT), on_content, &told);
    for (size_t i = 0; i < set->items.n; i++)
        set->items.items[i]->needs =
            needs_of(&told, rows->symbols, tc_invariant_fact(set->items.items[i]));
    tc_map_release(&told.operators);
}
