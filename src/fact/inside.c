/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.c - which calls the script makes, in a step or in one call of its own, and in which order
 *
 * What stands around them is a subject: a model's forward at one stage, or a step of the script.
 * Other facts speak of calls that were met; here a call that was never met is reported as well.
 */
#include "fact/inside.h"

#include <stdlib.h>
#include <string.h>

#include "fact/occasion.h"
#include "fact/table.h"
#include "fact/tensor_content.h"
#include "replay/symbols.h"

/* Of more sequences no order is reported. */
#define MAX_ORDERS 16

/* ---- subjects ------------------------------------------------------------------------------- */

static uint32_t number_of_inside(struct tc_fact_insides *insides, const struct tc_subject *subject)
{
    if (!insides->tuples)
        insides->tuples = tc_strtab_new();
    const uint32_t number = tc_strtab_intern(insides->tuples, subject, sizeof(*subject));

    if (number == insides->items.n)
        tc_vec_push(&insides->items, ((struct tc_fact_inside){
                                         .subject = *subject,
                                         .is_top = subject->fields[TC_FACT_FN] == TC_NO_SYM,
                                         .is_own = subject->fields[TC_FACT_BY] != TC_NO_SYM,
                                         .occasion = 1,
                                     }));
    return number;
}

/* by: "own" where functions that the script defines are reported. */
static uint32_t top_of(struct tc_fact_insides *insides, tc_sym stage, tc_sym by)
{
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_INSIDE);
    const bool is_own = by != TC_NO_SYM;

    if (!insides->items.n || insides->stage[is_own] != stage) {
        subject.fields[TC_FACT_STAGE] = stage;
        subject.fields[TC_FACT_BY] = by;
        insides->top[is_own] = number_of_inside(insides, &subject);
        insides->stage[is_own] = stage;
    }
    return insides->top[is_own];
}

/* Of a call around others, once it has one. */
static uint32_t within(struct tc_fact_watch *w, struct tc_fact_open *around, tc_sym stage,
                       tc_sym by)
{
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_INSIDE);
    uint32_t *inside = by == TC_NO_SYM ? &around->inside : &around->inside_own;

    if (*inside == TC_FACT_NO_INSIDE) {
        subject.fields[TC_FACT_FN] = w->labels.items[around->label].fn;
        subject.fields[TC_FACT_OF] = w->labels.items[around->label].of;
        subject.fields[TC_FACT_STAGE] = stage;
        subject.fields[TC_FACT_BY] = by;
        *inside = number_of_inside(&w->insides, &subject);
    }
    return *inside;
}

/* ---- what is expected ----------------------------------------------------------------------- */

/* The names of a fact's value, and their places. */
static uint32_t expect(struct tc_facts *facts, const struct tc_fact_inside *inside,
                       enum tc_attribute attribute, struct tc_map *places)
{
    const uint32_t subject = tc_fact_table_subject(&facts->table, &inside->subject);
    const uint32_t slot = tc_fact_table_slot(&facts->table, subject, TC_NO_SYM, attribute);
    struct tc_json *json = NULL;
    uint64_t n = 0;

    if (slot == UINT32_MAX)
        return slot;
    const tc_sym value = facts->table.slots.items[slot].fact.value;
    if (tc_json_parse(tc_strtab_text(facts->table.symbols, value),
                      tc_strtab_size(facts->table.symbols, value), &json, NULL))
        return UINT32_MAX;
    for (const struct tc_json *c = tc_json_first(json); c; c = tc_json_next(c))
        if (tc_json_text(c))
            tc_map_put(places, tc_strtab_intern_text(facts->table.symbols, tc_json_text(c)), ++n);
    tc_json_free(json);
    return slot;
}

static void expect_once(struct tc_facts *facts, struct tc_fact_inside *inside)
{
    if (inside->is_expected)
        return;
    inside->is_expected = true;
    inside->calls_slot = expect(facts, inside, TC_ATTRIBUTE_CALLS, &inside->expected_calls);
    inside->order_slot = expect(facts, inside, TC_ATTRIBUTE_ORDER, &inside->expected_order);
}

static void add_name(struct tc_facts *facts, struct tc_strbuf *out, tc_sym name)
{
    tc_strbuf_addc(out, out->size ? ',' : '[');
    tc_strbuf_add_json(out, tc_strtab_text(facts->table.symbols, name),
                       tc_strtab_size(facts->table.symbols, name));
}

/* ---- a call --------------------------------------------------------------------------------- */

/* A call that none of the runs learned from made there. */
static tc_fact_lead judge_call(struct tc_facts *facts, struct tc_fact_inside *inside, tc_sym fn,
                               tc_fact_lead cause)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    uint64_t place;

    expect_once(facts, inside);
    if (inside->calls_slot == UINT32_MAX || tc_map_get(&inside->expected_calls, fn, &place))
        return 0;
    inside->is_broken = true;
    add_name(facts, &text, fn);
    tc_strbuf_addc(&text, ']');
    tc_fact_table_add(&facts->table, inside->calls_slot, text.text, text.size, &facts->entries);
    tc_strbuf_release(&text);
    return tc_fact_settle_said(facts, 1, cause, NULL);
}

tc_fact_lead tc_fact_call_inside(struct tc_facts *facts, struct tc_fact_watch *w,
                                 struct tc_fact_open *around, const struct tc_call *call,
                                 tc_fact_lead cause)
{
    if (call->parent && !around)
        return 0; /* its record was lost */
    const tc_sym by = tc_role_has(call->role, TC_TRAIT_APART)
                          ? tc_strtab_intern_text(facts->table.symbols, "own")
                          : TC_NO_SYM;
    const uint32_t number = around
                                ? within(w, around,
                                         tc_fact_is_of_batch(call) ? tc_fact_stage_of(facts, call)
                                                                   : call->parent->stage,
                                         by)
                                : top_of(&w->insides, call->stage, by);
    struct tc_fact_inside *inside = &w->insides.items.items[number];
    bool is_new;
    uint64_t *last = tc_map_at(&inside->calls, call->descriptor, &is_new);

    if (*last == inside->occasion)
        return 0;
    *last = inside->occasion;
    tc_vec_push(&inside->sequence, call->descriptor);
    if (!is_new)
        return 0;
    tc_vec_push(&inside->all, call->descriptor);
    return facts->table.is_judging ? judge_call(facts, inside, call->descriptor, cause) : 0;
}

/* ---- the end of an occasion ----------------------------------------------------------------- */

/* Those of the sequence that are expected, in their order; false if that is another one. */
static bool is_in_order(struct tc_facts *facts, const struct tc_fact_inside *inside,
                        struct tc_strbuf *out)
{
    uint64_t place, last = 0;
    bool is = true;

    for (size_t i = 0; i < inside->sequence.n; i++) {
        if (!tc_map_get(&inside->expected_order, inside->sequence.items[i], &place))
            continue;
        is &= place > last;
        last = place;
        add_name(facts, out, inside->sequence.items[i]);
    }
    tc_strbuf_adds(out, out->size ? "]" : "[]");
    return is;
}

static void say_expected(struct tc_facts *facts, uint32_t slot)
{
    const tc_sym value = facts->table.slots.items[slot].fact.value;

    tc_fact_table_add(&facts->table, slot, tc_strtab_text(facts->table.symbols, value),
                      tc_strtab_size(facts->table.symbols, value), &facts->entries);
}

static void judge_occasion(struct tc_facts *facts, struct tc_fact_inside *inside, bool has_order)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    expect_once(facts, inside);
    if (inside->calls_slot != UINT32_MAX && !inside->is_broken)
        say_expected(facts, inside->calls_slot);
    if (!has_order || inside->order_slot == UINT32_MAX)
        return;
    if (is_in_order(facts, inside, &text))
        say_expected(facts, inside->order_slot);
    else
        tc_fact_table_add(&facts->table, inside->order_slot, text.text, text.size, &facts->entries);
    tc_strbuf_release(&text);
}

static void keep_order(struct tc_fact_inside *inside)
{
    if (!inside->orders)
        inside->orders = tc_strtab_new();
    inside->n_ordered++;
    inside->is_varied |= tc_strtab_count(inside->orders) > MAX_ORDERS;
    if (!inside->is_varied)
        tc_strtab_intern(inside->orders, inside->sequence.items,
                         inside->sequence.n * sizeof(*inside->sequence.items));
}

/* What a first step, or a first call, makes ready has an order of its own. */
void tc_fact_inside_ends(struct tc_facts *facts, struct tc_fact_watch *w, uint32_t number)
{
    struct tc_fact_inside *inside;

    if (number == TC_FACT_NO_INSIDE)
        return;
    inside = &w->insides.items.items[number];
    const bool has_order = inside->is_top ? w->n_windows > 0 : inside->occasion > 1;
    if (inside->sequence.n && facts->table.is_judging)
        judge_occasion(facts, inside, has_order);
    else if (inside->sequence.n && has_order)
        keep_order(inside);
    inside->sequence.n = 0;
    inside->occasion++;
}

void tc_fact_tops_end(struct tc_facts *facts, struct tc_fact_watch *w)
{
    for (size_t i = 0; i < w->insides.items.n; i++)
        if (w->insides.items.items[i].is_top)
            tc_fact_inside_ends(facts, w, (uint32_t)i);
}

/* ---- learning ------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b, void *symbols)
{
    return strcmp(tc_strtab_text(symbols, *(const tc_sym *)a),
                  tc_strtab_text(symbols, *(const tc_sym *)b));
}

static void say_names(struct tc_facts *facts, const struct tc_fact_inside *inside,
                      enum tc_attribute attribute, const tc_sym *names, size_t n)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < n; i++)
        add_name(facts, &text, names[i]);
    tc_strbuf_addc(&text, ']');
    tc_fact_say(facts, &inside->subject, TC_NO_SYM, attribute, text.text);
    tc_strbuf_release(&text);
}

/* Is it in all sequences, and after `before` (TC_NO_SYM: anything) in each? */
static bool is_always(const struct tc_fact_inside *inside, tc_sym before, tc_sym name)
{
    for (uint32_t i = 0; i < tc_strtab_count(inside->orders); i++) {
        const tc_sym *names = (const void *)tc_strtab_text(inside->orders, i);
        const size_t n = tc_strtab_size(inside->orders, i) / sizeof(*names);
        bool is_after = before == TC_NO_SYM;
        size_t at = 0;
        for (; at < n && names[at] != name; at++)
            is_after |= names[at] == before;
        if (at == n || !is_after)
            return false;
    }
    return true;
}

/* The calls of each occasion in their order, if that is always the same. Where it is not, another
 * process of the run may have one: it is none of the run. */
static void say_order(struct tc_facts *facts, const struct tc_fact_inside *inside)
{
    TC_VEC(tc_sym) common = {0};
    bool is_ordered = !inside->is_varied;

    if (!inside->orders)
        return;
    const tc_sym *names = (const void *)tc_strtab_text(inside->orders, 0);
    const size_t n = tc_strtab_size(inside->orders, 0) / sizeof(*names);
    for (size_t i = 0; is_ordered && i < n; i++) {
        if (!is_always(inside, TC_NO_SYM, names[i]))
            continue;
        is_ordered = !common.n || is_always(inside, common.items[common.n - 1], names[i]);
        tc_vec_push(&common, names[i]);
    }
    if (!is_ordered)
        tc_fact_say(facts, &inside->subject, TC_NO_SYM, TC_ATTRIBUTE_ORDER, TC_FACT_DRAWN);
    else if (common.n > 1)
        say_names(facts, inside, TC_ATTRIBUTE_ORDER, common.items, common.n);
    tc_fact_settle_said(facts, inside->n_ordered, 0, NULL);
    tc_vec_release(&common);
}

void tc_fact_say_insides(struct tc_facts *facts, struct tc_fact_watch *w)
{
    for (size_t i = 0; i < w->insides.items.n; i++) {
        struct tc_fact_inside *inside = &w->insides.items.items[i];
        say_order(facts, inside);
        if (w->process->selection || inside->is_own)
            continue; /* other calls may have been made; one's own are made now and then */
        qsort_r(inside->all.items, inside->all.n, sizeof(*inside->all.items), compare_names,
                facts->table.symbols);
        say_names(facts, inside, TC_ATTRIBUTE_CALLS, inside->all.items, inside->all.n);
        tc_fact_settle_said(facts, inside->occasion, 0, NULL);
    }
}
