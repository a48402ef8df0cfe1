/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing.c - the line to look at where a call, or what flows to it, is not what it was
 *
 * What is missing has no line of its own. A flow is reported where its operand comes from elsewhere
 * now, a call where it is made still; one that is made no more where what it was given is made, and
 * where its result was read.
 */
#include "fact/missing.h"

#include <string.h>

#include "fact/counter.h"
#include "fact/origin.h"
#include "fact/phrase.h"

/* Is nothing expected of the counter? */
static bool is_unexpected(struct tc_facts *facts, struct tc_fact_counter *c)
{
    for (unsigned i = 0; i < TC_FACT_N_TALLIES; i++)
        if (tc_fact_counter_slot(facts, c, (enum tc_fact_tally)i) != UINT32_MAX)
            return false;
    return true;
}

/* A flow that has these four fields in common with another, and that no run learned from had; or
 * NULL. */
static const struct tc_fact_counter *new_flow(struct tc_facts *facts, const struct tc_fact_watch *w,
                                              const struct tc_subject *flow,
                                              const enum tc_fact_field shared[4])
{
    for (size_t i = 0; i < w->counters.n; i++) {
        struct tc_fact_counter *other = &w->counters.items[i];
        bool is_like = other->subject.kind == TC_SUBJECT_FLOW;
        for (size_t k = 0; k < 4; k++)
            is_like &= other->subject.fields[shared[k]] == flow->fields[shared[k]];
        if (is_like && other->n_all && is_unexpected(facts, other))
            return other;
    }
    return NULL;
}

/* What the operand comes from now. */
static const enum tc_fact_field of_end[] = {TC_FACT_FN, TC_FACT_OF, TC_FACT_STAGE, TC_FACT_NAME};
/* Where what came to the operand goes now. */
static const enum tc_fact_field of_start[] = {TC_FACT_IN, TC_FACT_IN_OF, TC_FACT_STAGE,
                                              TC_FACT_STAGE};

/* The last line at which a call was made, of that class and at that stage where these are given. */
static tc_sym line_of_call(const struct tc_fact_watch *w, tc_sym fn, tc_sym of, tc_sym stage)
{
    for (size_t i = 0; i < w->counters.n; i++) {
        const struct tc_fact_counter *c = &w->counters.items[i];
        const tc_sym *f = c->subject.fields;
        if (c->subject.kind == TC_SUBJECT_WINDOW && c->n_all && f[TC_FACT_FN] == fn &&
            (of == TC_NO_SYM || f[TC_FACT_OF] == of) &&
            (stage == TC_NO_SYM || f[TC_FACT_STAGE] == stage))
            return c->at;
    }
    return TC_SYM_EMPTY;
}

/* ---- a call that is made no more ------------------------------------------------------------ */

/* What a fact says an operand of its call comes from; TC_NO_SYM where it says nothing of it. */
static tc_sym source_of(struct tc_strtab *symbols, const struct tc_fact *fact)
{
    const char *text = tc_strtab_text(symbols, fact->value);
    const size_t size = tc_strtab_size(symbols, fact->value);

    if (fact->subject.kind == TC_SUBJECT_FLOW)
        return fact->subject.fields[TC_FACT_IN];
    return fact->attribute == TC_ATTRIBUTE_SOURCE && size > 2
               ? tc_strtab_find(symbols, text + 1, size - 2)
               : TC_NO_SYM;
}

/* A call that stood beside the one that is missing, and its line. */
struct neighbour {
    tc_sym fn, line;
};

static void meet_neighbour(struct neighbour *n, tc_sym fn, tc_sym line)
{
    if (n->line == TC_SYM_EMPTY && line != TC_SYM_EMPTY)
        *n = (struct neighbour){fn, line};
}

/* Of the calls that gave it what it was given, and of those that read its result, the first that
 * are made. */
static void find_neighbours(const struct tc_facts *facts, const struct tc_fact_watch *w,
                            const tc_sym *missing, struct neighbour *before,
                            struct neighbour *after)
{
    const tc_sym fn = missing[TC_FACT_FN], stage = missing[TC_FACT_STAGE];

    for (size_t i = 0; i < facts->table.slots.n; i++) {
        const struct tc_fact *fact = &facts->table.slots.items[i].fact;
        const tc_sym *f = fact->subject.fields;
        const tc_sym source = source_of(facts->table.symbols, fact);
        if (source == TC_NO_SYM || (stage != TC_NO_SYM && f[TC_FACT_STAGE] != stage))
            continue;
        if (source == fn && f[TC_FACT_FN] != fn)
            meet_neighbour(after, f[TC_FACT_FN],
                           line_of_call(w, f[TC_FACT_FN], f[TC_FACT_OF], stage));
        else if (f[TC_FACT_FN] == fn && source != fn)
            meet_neighbour(before, source, line_of_call(w, source, TC_NO_SYM, stage));
    }
}

static void add_neighbour(struct tc_facts *facts, const char *words, const struct neighbour *n,
                          struct tc_strbuf *out)
{
    if (n->line == TC_SYM_EMPTY)
        return;
    tc_strbuf_adds(out, words);
    tc_phrase_call(facts->table.symbols, n->fn, TC_NO_SYM, out);
    tc_strbuf_adds(out, " at ");
    tc_fact_print_line(facts, n->line, out);
}

static tc_sym place_between(struct tc_facts *facts, const struct tc_fact_watch *w,
                            const struct tc_subject *missing)
{
    struct neighbour before = {TC_NO_SYM, TC_SYM_EMPTY}, after = before;

    find_neighbours(facts, w, missing->fields, &before, &after);
    add_neighbour(facts, "; it stood after ", &before, &facts->origin);
    add_neighbour(facts, before.line == TC_SYM_EMPTY ? "; it stood before " : " and before ",
                  &after, &facts->origin);
    return after.line == TC_SYM_EMPTY ? before.line : after.line;
}

/* ---- what is told --------------------------------------------------------------------------- */

/* Unless it reads as what the operand came from before, as another parameter that is initialised.
 */
static void add_stranger(struct tc_facts *facts, const struct tc_subject *flow,
                         const struct tc_subject *stranger)
{
    struct tc_strbuf was = TC_STRBUF_INIT, is = TC_STRBUF_INIT;

    tc_phrase_start(facts->table.symbols, flow, &was);
    tc_phrase_start(facts->table.symbols, stranger, &is);
    if (strcmp(was.text, is.text) != 0)
        tc_strbuf_addf(&facts->origin, "; new is %s", is.text);
    tc_strbuf_release(&was);
    tc_strbuf_release(&is);
}

static void add_taker(struct tc_facts *facts, const struct tc_fact_counter *taker)
{
    if (!taker ||
        !strchr(tc_strtab_text(facts->table.symbols, taker->subject.fields[TC_FACT_IN]), '.'))
        return;
    tc_strbuf_adds(&facts->origin, "; now ");
    tc_phrase_subject(facts->table.symbols, &taker->subject, &facts->origin);
    tc_strbuf_adds(&facts->origin, " gets it");
}

static tc_sym place_flow(struct tc_facts *facts, const struct tc_fact_watch *w,
                         const struct tc_subject *flow)
{
    const tc_sym *f = flow->fields, number = tc_strtab_find(w->counter_tuples, flow, sizeof(*flow));
    const struct tc_fact_counter *stranger = new_flow(facts, w, flow, of_end),
                                 *own = number == TC_NO_SYM ? NULL : &w->counters.items[number],
                                 *told = stranger            ? stranger
                                         : own && own->n_all ? own
                                                             : NULL;

    if (!told) {
        add_taker(facts, new_flow(facts, w, flow, of_start));
        return line_of_call(w, f[TC_FACT_FN], f[TC_FACT_OF], f[TC_FACT_STAGE]);
    }
    if (stranger)
        add_stranger(facts, flow, &stranger->subject);
    tc_fact_print_origin(facts, told->from, told->at, &facts->origin);
    return told->at;
}

tc_sym tc_fact_find_place(struct tc_facts *facts, const struct tc_fact_watch *w,
                          const struct tc_subject *subject)
{
    const tc_sym *f = subject->fields;
    tc_sym line;

    facts->has_origin = true;
    tc_strbuf_reset(&facts->origin);
    if (subject->kind == TC_SUBJECT_FLOW)
        return place_flow(facts, w, subject);
    if (subject->kind != TC_SUBJECT_WINDOW && subject->kind != TC_SUBJECT_RUN)
        return TC_SYM_EMPTY;
    line = line_of_call(w, f[TC_FACT_FN], f[TC_FACT_OF], f[TC_FACT_STAGE]);
    return line == TC_SYM_EMPTY ? place_between(facts, w, subject) : line;
}
