/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_result.c - what a call returns: packed, read as facts, and given on
 *
 * A result is known by its maker from here on, and carries on what broke in the call.
 */
#include "fact/call_result.h"

#include <string.h>

#include "fact/call_class.h"
#include "fact/call_content.h"
#include "fact/call_open.h"
#include "fact/flow.h"
#include "fact/maker.h"
#include "fact/operand_facts.h"
#include "fact/operand_pack.h"
#include "fact/origin.h"
#include "relation/form.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* Whether a result equals an operand is reported neither where it may do so by chance. */
static bool has_many(const struct tc_fact_pack *result)
{
    for (size_t i = 0; i < result->n_tensors; i++)
        if (result->n_elements[i] >= TC_MIN_EQUAL)
            return true;
    return false;
}

void tc_fact_read_result(struct tc_facts *facts, const struct tc_fact_open *open,
                         const struct tc_record *end)
{
    struct tc_fact_reader reader = {.table = &facts->table,
                                    .out = &facts->entries,
                                    .subject = open->subject,
                                    .is_own = open->is_own,
                                    .pack = &facts->pack};
    struct tc_strbuf same = TC_STRBUF_INIT;

    reader.has_content = facts->pack.has_content;
    if (end->value && !open->is_chance)
        tc_fact_read_value(&reader, "value", end->value);
    for (uint32_t i = 0; end->same && end->same->kind == TC_VALUE_ARRAY && i < end->same->n; i++) {
        struct tc_str name = tc_value_str(&end->same->items[i]);
        tc_strbuf_adds(&same, i ? "," : "");
        tc_strbuf_add(&same, name.text, name.size);
    }
    if (has_many(&facts->pack) && !open->is_own)
        tc_fact_add_text(&reader, "value", TC_ATTRIBUTE_EQUALS,
                         (struct tc_str){same.text ? same.text : "", (uint32_t)same.size});
    if (end->finite >= 0)
        tc_fact_add_json(&reader, "value", TC_ATTRIBUTE_FINITE, end->finite ? "true" : "false");
    tc_strbuf_release(&same);
    tc_fact_reader_release(&reader);
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Of what a generator gives the next run has another one; of arrays there are shapes. */
static bool is_drawn_number(const struct tc_call *call)
{
    return call->role == TC_ROLE_DRAW && call->end->value &&
           call->end->value->kind < TC_VALUE_ARRAY;
}

void tc_fact_pack_result(struct tc_facts *facts, struct tc_fact_watch *w, struct tc_fact_open *open,
                         const struct tc_call *call)
{
    struct tc_fact_pack *pack = &facts->pack;
    const struct tc_record *end = call->end;

    tc_fact_pack_begins(facts, open->subject, 'e');
    open->is_chance = is_drawn_number(call);
    if (!open->is_chance)
        tc_fact_pack_value(pack, end->value, 0);
    (void)tc_fact_find_computed(w, pack, open->is_computed);
    (void)tc_fact_find_choices(w, pack, open->is_choice);
    tc_strbuf_addc(&pack->bytes, (char)('1' + end->finite));
    tc_fact_pack_value(pack, end->same, 0);
}

void tc_fact_pack_own_result(struct tc_facts *facts, struct tc_fact_watch *w,
                             struct tc_fact_open *open, const struct tc_call *call)
{
    tc_fact_pack_begins(facts, open->subject, 'e');
    facts->pack.has_content = false;
    tc_fact_pack_value(&facts->pack, call->end->value, 0);
    (void)tc_fact_find_computed(w, &facts->pack, open->is_computed);
}

/* ---- makers and causes ----------------------------------------------------------------------- */

/* So many tensors are known to wait in a loader. */
#define MAX_LOADED 4096

/* A tensor that was there before, and was not handed to the call: that returns it as it is, as
 * state_dict() does, and did not make it. Of a loader with workers a call may unpack the batches
 * that later ones return. */
static bool is_handed_out(const struct tc_fact_watch *w, const struct tc_fact_open *open,
                          const struct tc_call *call, int64_t serial)
{
    uint64_t ignored;

    return serial <= open->latest && !tc_fact_is_operand(open, serial) &&
           tc_fact_producer(w, serial) &&
           !(call->role == TC_ROLE_DATA && tc_map_get(&w->loaded, (uint64_t)serial, &ignored));
}

static void produce_one(struct tc_fact_watch *w, const struct tc_fact_open *open, int64_t serial,
                        size_t i, bool is_computed)
{
    const uint64_t word = tc_fact_word(w->labels.items[open->label].fn, open->row, i) |
                          (is_computed ? TC_FACT_COMPUTED : 0);

    tc_fact_produce(w, serial, word);
    if (open->row)
        tc_map_put(&w->newest, word & TC_FACT_WORD, (uint64_t)serial);
}

/* What is written to by an operator that returns nothing: x[i] = y. A variable stays what it is. */
static int64_t written(const struct tc_fact_watch *w, const struct tc_call *call, size_t n_results)
{
    const int64_t serial = tc_value_get(call->self, "tensor")
                               ? tc_value_int(tc_value_get(call->self, "id"), TC_NONE)
                               : TC_NONE;

    return call->role != TC_ROLE_OPERATOR || n_results || serial < 0 ||
                   tc_process_variable(w->process, serial)
               ? TC_NONE
               : serial;
}

/* Of a list that is too long to be packed the tensors that the trace tells. */
static void give_pieces(struct tc_fact_watch *w, const struct tc_fact_open *open,
                        const struct tc_call *call)
{
    const struct tc_value *list = call->end->value;

    if (!list || list->kind != TC_VALUE_ARRAY || list->n <= TC_FACT_LIST)
        return;
    for (uint32_t i = 0; i < list->n; i++) {
        const int64_t serial = tc_value_get(&list->items[i], "tensor")
                                   ? tc_value_int(tc_value_get(&list->items[i], "id"), TC_NONE)
                                   : TC_NONE;
        if (serial >= 0 && !is_handed_out(w, open, call, serial))
            produce_one(w, open, serial, i,
                        tc_value_is_true(tc_value_get(&list->items[i], "requires_grad")));
    }
}

void tc_fact_give_on(const struct tc_facts *facts, struct tc_fact_watch *w,
                     const struct tc_fact_open *open, const struct tc_call *call)
{
    tc_fact_lead lead = open->lead ? open->lead : open->inner ? open->inner : open->flow;

    const int64_t target = written(w, call, facts->pack.n_tensors);
    give_pieces(w, open, call);
    for (size_t i = 0; i < facts->pack.n_tensors; i++) {
        const int64_t serial = facts->pack.tensors[i];
        if (open->is_choice)
            tc_map_put(&w->choices, (uint64_t)serial, 1);
        if (!is_handed_out(w, open, call, serial)) {
            produce_one(w, open, serial, i, facts->pack.is_computed[i]);
            if (tc_fact_is_of_batch(call))
                tc_map_remember(&w->loaded, MAX_LOADED, (uint64_t)serial, 1);
            if (facts->table.is_judging)
                tc_fact_keep_origin(w, open, call, serial);
        }
        if (lead)
            tc_map_put(&w->taints, (uint64_t)serial, lead);
    }
    if (target != TC_NONE) {
        produce_one(w, open, target, 0, open->is_computed);
        if (facts->table.is_judging)
            tc_fact_keep_origin(w, open, call, target);
        if (lead)
            tc_map_put(&w->taints, (uint64_t)target, lead);
    }
    if (tc_fact_thing_of(call) != TC_NONE && tc_fact_lead_is_law(lead))
        tc_map_put(&w->taints, (uint64_t)tc_fact_thing_of(call), lead);
    if (call->role == TC_ROLE_BACKWARD && tc_fact_lead_is_law(lead))
        w->gradient_lead = lead;
    for (size_t i = 0; call->role == TC_ROLE_STEP && w->gradient_lead && i < call->n_params; i++)
        tc_map_put(&w->taints, (uint64_t)call->params[i], w->gradient_lead);
}

/* Tensors are made by what it calls; what none of that shows is its own: an array, and what a
 * package computes. */
void tc_fact_give_on_own(struct tc_fact_watch *w, const struct tc_fact_open *open,
                         const struct tc_call *call)
{
    const struct tc_value *value = call->end->value;
    const int64_t serial = tc_value_int(tc_value_get(value, "id"), TC_NONE);
    const bool is_made =
        tc_value_get(value, "array") || (call->role == TC_ROLE_PACKAGE && tc_is_tensor(value));

    if (!is_made || serial <= open->latest || tc_fact_producer(w, serial))
        return;
    tc_map_put(&w->stand_ins, w->labels.items[open->label].fn, 1);
    tc_fact_produce(w, serial,
                    tc_fact_word(w->labels.items[open->label].fn, 0, 0) |
                        (open->is_computed ? TC_FACT_COMPUTED : 0));
}
