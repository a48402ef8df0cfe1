/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter.c - how often something is met in a window: calls of an API, flows, uses of a module
 *
 * A counter has a slot for each way to say how often: in each step, in the first, in later ones,
 * where it is met at all.
 */
#include "fact/counter.h"

#include <string.h>

#include "fact/origin.h"
#include "fact/table.h"
#include "replay/symbols.h"

#define NOT_LOOKED_UP (UINT32_MAX - 1)

/* The counter of a subject, made if it is a new one. */
struct tc_fact_counter *tc_fact_counter_of(struct tc_fact_watch *w,
                                           const struct tc_subject *subject, bool is_reported)
{
    tc_sym number = tc_strtab_intern(w->counter_tuples, subject, sizeof(*subject));
    struct tc_fact_counter c = {
        .subject = *subject, .is_reported = is_reported, .at = TC_SYM_EMPTY};

    if (number == w->counters.n) {
        for (size_t i = 0; i < TC_FACT_N_TALLIES; i++)
            c.slots[i] = NOT_LOOKED_UP;
        tc_vec_push(&w->counters, c);
    }
    return &w->counters.items[number];
}

void tc_fact_tally(struct tc_fact_watch *w, const struct tc_subject *subject,
                   const struct tc_call *call, int64_t serial)
{
    struct tc_fact_counter *c = tc_fact_counter_of(w, subject, false);

    c->n++;
    c->n_all++;
    c->at = tc_call_at(call);
    c->from = tc_fact_origin(w, serial);
}

static const struct {
    enum tc_attribute of_call, of_flow;
} tallies[TC_FACT_N_TALLIES] = {
    [TC_FACT_TALLY_ALL] = {TC_ATTRIBUTE_COUNT,       TC_ATTRIBUTE_FLOWS      },
    [TC_FACT_TALLY_FIRST] = {TC_ATTRIBUTE_COUNT_FIRST, TC_ATTRIBUTE_FLOWS_FIRST},
    [TC_FACT_TALLY_LATER] = {TC_ATTRIBUTE_COUNT_LATER, TC_ATTRIBUTE_FLOWS_LATER},
    [TC_FACT_TALLY_WHERE] = {TC_ATTRIBUTE_COUNT_WHERE, TC_ATTRIBUTE_FLOWS_WHERE},
};

/* Each is looked up when it is first said: learning, that makes it a fact. */
uint32_t tc_fact_counter_slot(struct tc_facts *facts, struct tc_fact_counter *c,
                              enum tc_fact_tally tally)
{
    const bool is_flow = c->subject.kind == TC_SUBJECT_FLOW;

    if (c->slots[tally] != NOT_LOOKED_UP)
        return c->slots[tally];
    c->slots[tally] = UINT32_MAX;
    if (is_flow && c->subject.fields[TC_FACT_BY] != TC_NO_SYM)
        return UINT32_MAX; /* of a batch not all is reported: how often cannot be said */
    c->slots[tally] =
        tc_fact_table_slot(&facts->table, tc_fact_table_subject(&facts->table, &c->subject),
                           TC_NO_SYM, is_flow ? tallies[tally].of_flow : tallies[tally].of_call);
    return c->slots[tally];
}
