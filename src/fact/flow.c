/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.c - what flows from call to call within a step
 *
 * Where an operand comes from is a fact of a call where it comes from one place always. The sums
 * and products of a script share a context, so what is recorded of them is how often each pair of
 * calls is met in a step: "the receiver of mul() comes twice from exp()". A target that is made of
 * other rewards, a term that has gone, a detach that is missing changes such a number.
 *
 * Calls of one API in a row, as those that make the tensors of a batch, are told apart by their
 * place, and the results of one call by theirs. Of those the newest is told apart from earlier
 * ones: what was computed in the turn of a loop before this one, or before a like call.
 */
#include "fact/flow.h"

#include <stdio.h>
#include <string.h>

#include "fact/counter.h"
#include "fact/maker.h"
#include "fact/table.h"
#include "replay/symbols.h"

/* Further calls of a row, and further results, are one. */
#define MAX_ROW    8
#define MAX_RESULT 7

uint32_t tc_fact_place_in_row(struct tc_fact_watch *w, const struct tc_fact_open *open)
{
    if (w->row_label != open->label + 1)
        w->row = 0;
    w->row_label = open->label + 1;
    w->row += w->row < MAX_ROW;
    return w->row;
}

uint64_t tc_fact_word(uint32_t fn, uint32_t row, size_t i)
{
    const uint64_t result = i < MAX_RESULT ? i : MAX_RESULT;

    return fn | ((uint64_t)row | result << 4) << TC_FACT_WHICH;
}

void tc_fact_flow_init(struct tc_facts *facts)
{
    for (size_t i = 0; i <= TC_FACT_SOURCES; i++)
        facts->ends[i] = TC_NO_SYM;
    for (size_t i = 0; i < TC_FACT_N_STARTS; i++)
        facts->starts[0][i] = facts->starts[1][i] = TC_NO_SYM;
}

/* "number 2" of calls in a row, "result 1" of one call, from 0 on; "an earlier one". */
static tc_sym make_start(struct tc_strtab *symbols, unsigned row, unsigned result, bool is_earlier)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    tc_sym sym;

    if (result)
        tc_strbuf_addf(&text, "result %u", result);
    if (row > 1)
        tc_strbuf_addf(&text, "%snumber %u", result ? " of " : "", row);
    if (is_earlier)
        tc_strbuf_addf(&text, "%san earlier call", text.size ? " of " : "");
    sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

/* Did the same calls in a row return another tensor since? */
static bool is_earlier(const struct tc_fact_watch *w, int64_t serial, uint64_t word)
{
    uint64_t newest;

    return tc_map_get(&w->newest, word & TC_FACT_WORD, &newest) && (int64_t)newest != serial;
}

static tc_sym start_of(struct tc_facts *facts, const struct tc_fact_watch *w, int64_t serial)
{
    const uint64_t word = tc_fact_producer(w, serial);
    const unsigned which = (unsigned)(word >> TC_FACT_WHICH) & (TC_FACT_N_STARTS - 1);
    const unsigned row = which & 15, result = which >> 4;
    const bool earlier = row && is_earlier(w, serial, word);

    if (row < 2 && !result && !earlier)
        return TC_NO_SYM;
    tc_sym *start = &facts->starts[earlier][which];
    if (*start == TC_NO_SYM)
        *start = make_start(facts->table.symbols, row, result, earlier);
    return *start;
}

/* The receiver, or the place among the operands. */
static tc_sym end_of(struct tc_facts *facts, size_t i, size_t n_args)
{
    const size_t place = i < n_args ? i + 1 : 0;
    char text[32] = "self";

    if (facts->ends[place] == TC_NO_SYM) {
        if (place)
            snprintf(text, sizeof(text), "%zu", place);
        facts->ends[place] = tc_strtab_intern_text(facts->table.symbols, text);
    }
    return facts->ends[place];
}

void tc_fact_flow(struct tc_facts *facts, struct tc_fact_watch *w,
                  const struct tc_fact_label *label, const struct tc_call *call, size_t n_args)
{
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_FLOW);

    subject.fields[TC_FACT_FN] = label->fn;
    subject.fields[TC_FACT_OF] = label->of;
    subject.fields[TC_FACT_STAGE] = tc_fact_stage_of(call);
    if (tc_fact_is_of_batch(call))
        subject.fields[TC_FACT_BY] = call->parent->descriptor;
    for (size_t i = 0; i < facts->sources.n; i++) {
        if (facts->sources.items[i] == TC_NO_SYM)
            continue;
        subject.fields[TC_FACT_NAME] = end_of(facts, i, n_args);
        subject.fields[TC_FACT_IN] = facts->sources.items[i];
        subject.fields[TC_FACT_IN_OF] = start_of(facts, w, facts->pack.tensors[i]);
        tc_fact_tally(w, &subject, call, facts->pack.tensors[i]);
    }
}

bool tc_fact_is_hidden(const struct tc_fact_watch *w, const struct tc_subject *flow)
{
    return w->cut.n && flow->fields[TC_FACT_IN] == TC_SYM_OUTSIDE;
}

/* ---- uses ----------------------------------------------------------------------------------- */

/* "model.blocks.0" of "model.blocks.0.weight"; TC_NO_SYM of what has no name but the optimizer's.
 */
static tc_sym module_of(struct tc_strtab *symbols, const struct tc_variable *variable)
{
    const char *name = variable->name == TC_NO_SYM ? "" : tc_strtab_text(symbols, variable->name);
    const char *dot = strrchr(name, '.');

    if (variable->kind != TC_SYM_PARAMETER || !dot || strstr(name, ".param_groups["))
        return TC_NO_SYM;
    return tc_symbols_str(symbols, (struct tc_str){name, (uint32_t)(dot - name)});
}

static tc_sym user_of(struct tc_facts *facts, struct tc_fact_watch *w, int64_t serial)
{
    const struct tc_variable *variable;
    uint64_t known;

    if (tc_map_get(&w->owners, (uint64_t)serial, &known))
        return known ? (tc_sym)(known - 1) : TC_NO_SYM;
    variable = tc_process_variable(w->process, serial);
    if (!variable)
        return TC_NO_SYM;
    const tc_sym module = module_of(facts->table.symbols, variable);
    if (module != TC_NO_SYM) /* it may still be named */
        tc_map_put(&w->owners, (uint64_t)serial, (uint64_t)module + 1);
    return module;
}

void tc_fact_use(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    const struct tc_fact_pack *pack = &facts->pack;
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_USE);

    if (call->role != TC_ROLE_FUNCTION)
        return;
    for (size_t i = 0; i < pack->n_tensors && i < TC_FACT_SOURCES; i++) {
        const tc_sym module = user_of(facts, w, pack->tensors[i]);
        if (module == TC_NO_SYM || module == subject.fields[TC_FACT_NAME])
            continue;
        subject.fields[TC_FACT_NAME] = module;
        subject.fields[TC_FACT_STAGE] = call->stage;
        tc_fact_tally(w, &subject, call, TC_NONE);
    }
}
