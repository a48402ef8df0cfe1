/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_operands.c - what a call is given: packed, and read as facts
 *
 * Operands, receiver and mode, where they come from, and what a step owns. Whatever is read here of
 * a new class of calls has to be packed, or classes would mix.
 */
#include "fact/call_operands.h"

#include <stdio.h>
#include <string.h>

#include "fact/call_class.h"
#include "fact/call_content.h"
#include "fact/call_open.h"
#include "fact/flow.h"
#include "fact/maker.h"
#include "fact/operand_facts.h"
#include "fact/operand_pack.h"
#include "fact/table.h"
#include "replay/symbols.h"

static void read_owned(struct tc_fact_reader *reader, const struct tc_call *call)
{
    char number[32];

    if (call->role != TC_ROLE_STEP && call->role != TC_ROLE_ZERO_GRAD)
        return;
    snprintf(number, sizeof(number), "%zu", call->n_params);
    tc_fact_add_json(reader, NULL, TC_ATTRIBUTE_OWNED, number);
    if (call->role == TC_ROLE_STEP)
        tc_fact_add_json(reader, NULL, TC_ATTRIBUTE_UNCLEARED,
                         call->n_uncleared ? "true" : "false");
}

void tc_fact_read_operands(struct tc_facts *facts, const struct tc_fact_watch *w,
                           const struct tc_fact_open *open, const struct tc_call *call)
{
    struct tc_fact_reader reader = {.table = &facts->table,
                                    .out = &facts->entries,
                                    .subject = open->subject,
                                    .has_content = facts->pack.has_content,
                                    .pack = &facts->pack,
                                    .sources = facts->sources.items,
                                    .n_sources = facts->sources.n,
                                    .cut = &w->cut,
                                    .stand_ins = &w->stand_ins};

    /* What calls of torch hand to others inside follows from the release alone. */
    reader.tells_keys = tc_fact_is_of_script(call);
    reader.is_own = call->role == TC_ROLE_OWN;
    reader.is_set_up = tc_fact_is_init(call->stage);
    if (call->args)
        tc_fact_read_value(&reader, "args", call->args);
    reader.has_class = true;
    if (call->self)
        tc_fact_read_value(&reader, "self", call->self);
    if (facts->pack.n_tensors)
        tc_fact_add_json(&reader, NULL, TC_ATTRIBUTE_AUTOCAST,
                         tc_value_get(call->ctx, "autocast") ? "true" : "false");
    read_owned(&reader, call);
    if (reader.has_content)
        tc_fact_read_contents(&facts->pack, &reader, call);
    reader.subject = open->by_subject;
    if (call->args && reader.subject != UINT32_MAX)
        tc_fact_read_besides(&reader, call->args, open->first);
    tc_fact_reader_release(&reader);
}

/* ---- packing --------------------------------------------------------------------------------- */

/* A script that multiplies twice does so by numbers of their own, in one context: what made the
 * first operand tells such calls apart. */
static uint32_t subject_by(struct tc_facts *facts, const struct tc_fact_open *open,
                           const struct tc_call *call, size_t first)
{
    struct tc_subject subject;

    if (first >= facts->sources.n || facts->sources.items[first] == TC_NO_SYM ||
        (!tc_fact_is_of_script(call) && !tc_fact_is_of_batch(call)))
        return UINT32_MAX;
    subject = tc_fact_table_subject_at(&facts->table, open->subject);
    subject.fields[TC_FACT_BY] = facts->sources.items[first];
    return tc_fact_table_subject(&facts->table, &subject);
}

static void keep_operands(const struct tc_fact_pack *pack, const struct tc_fact_watch *w,
                          struct tc_fact_open *open)
{
    memcpy(open->operands.tensors, pack->tensors, pack->n_tensors * sizeof(*pack->tensors));
    open->operands.n_tensors = pack->n_tensors;
    open->flow = tc_fact_taint_of(w, &open->operands);
}

void tc_fact_pack_operands(struct tc_facts *facts, struct tc_fact_watch *w,
                           struct tc_fact_open *open, const struct tc_call *call)
{
    struct tc_fact_pack *pack = &facts->pack;
    const size_t counts[2] = {call->n_params, call->n_uncleared > 0};

    size_t n_args;

    tc_fact_pack_begins(facts, open->subject, 'b');
    pack->has_content &= call->role != TC_ROLE_COLLECTIVE; /* it may be memory still to be filled */
    tc_fact_pack_value(pack, call->args, 0);
    n_args = pack->n_tensors;
    tc_fact_pack_value(pack, call->self, 0);
    tc_fact_pack_value(pack, call->ctx, 0);
    tc_fact_find_sources(facts, w, pack);
    if (facts->sources.n)
        tc_strbuf_add(&pack->bytes, facts->sources.items,
                      facts->sources.n * sizeof(*facts->sources.items));
    open->first = n_args < pack->n_tensors ? n_args : 0;
    open->by_subject = subject_by(facts, open, call, open->first);
    open->is_computed = tc_fact_find_computed(w, pack, false) || call->is_root;
    open->is_choice = tc_fact_find_choices(w, pack, false);
    tc_strbuf_add(&pack->bytes, counts, sizeof(counts));
    if (tc_fact_is_of_script(call) || tc_fact_is_of_batch(call))
        tc_fact_flow(facts, w, &w->labels.items[open->label], call, n_args);
    tc_fact_use(facts, w, call);
    tc_fact_pack_contents(pack, call);
    keep_operands(pack, w, open);
}

/* Whatever computes with its operands inside of it is reported for itself. */
void tc_fact_pack_own_operands(struct tc_facts *facts, struct tc_fact_watch *w,
                               struct tc_fact_open *open, const struct tc_call *call)
{
    struct tc_fact_pack *pack = &facts->pack;

    tc_fact_pack_begins(facts, open->subject, 'b');
    pack->has_content = false;
    tc_fact_pack_value(pack, call->args, 0);
    const size_t n_args = pack->n_tensors;
    tc_fact_pack_value(pack, call->self, 0);
    tc_fact_pack_value(pack, call->ctx, 0);
    tc_fact_find_sources(facts, w, pack);
    if (facts->sources.n)
        tc_strbuf_add(&pack->bytes, facts->sources.items,
                      facts->sources.n * sizeof(*facts->sources.items));
    open->is_computed = tc_fact_find_computed(w, pack, false);
    if (tc_fact_is_of_script(call))
        tc_fact_flow(facts, w, &w->labels.items[open->label], call, n_args);
    keep_operands(pack, w, open);
}
