/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_facts.c - the end of a step window: how often what was called, and what flowed where
 *
 * First counts of calls, then the flows that follow from them. Counts that a limit of the trace
 * cut are left out. A call that is first met in a later window was made zero times in the
 * windows before.
 */
#include "fact/window_facts.h"

#include <string.h>

#include "fact/counter.h"
#include "fact/drawn.h"
#include "fact/flow.h"
#include "fact/missing.h"
#include "fact/next.h"
#include "fact/occasion.h"
#include "fact/pass.h"
#include "fact/table.h"
#include "fact/tensor_content.h"
#include "fact/variable_facts.h"
#include "relation/form.h"
#include "replay/symbols.h"

/* In place of a count: there were others in later steps. */
#define LATER "\"later\""

/* ---- how often ------------------------------------------------------------------------------- */

static void say_count(struct tc_facts *facts, struct tc_fact_counter *c, enum tc_fact_tally tally,
                      uint64_t n)
{
    const uint32_t slot = tc_fact_counter_slot(facts, c, tally);
    struct tc_strbuf *text = &facts->pack.bytes;

    if (slot == UINT32_MAX)
        return;
    tc_strbuf_reset(text);
    if (n && c->has_more)
        tc_strbuf_adds(text, TC_FACT_MANY);
    else
        tc_strbuf_add_int(text, (int64_t)n);
    tc_fact_table_add(&facts->table, slot, text->text, text->size, &facts->entries);
}

/* What is met first in a later window was called not once in those before it. */
static void say_absent(struct tc_facts *facts, struct tc_fact_counter *c, uint64_t n_windows,
                       const struct tc_place *place)
{
    say_count(facts, c, TC_FACT_TALLY_FIRST, 0);
    tc_fact_settle_said(facts, 1, 0, place);
    say_count(facts, c, TC_FACT_TALLY_ALL, 0);
    tc_fact_settle_said(facts, n_windows, 0, place);
    if (n_windows < 2)
        return;
    say_count(facts, c, TC_FACT_TALLY_LATER, 0);
    tc_fact_settle_said(facts, n_windows - 1, 0, place);
}

/* Judging, a call that never comes is missed from the first window on. */
static void expect_counters(const struct tc_facts *facts, struct tc_fact_watch *w)
{
    for (size_t i = 0; facts->table.is_judging && i < facts->table.slots.n; i++) {
        const struct tc_subject *subject = &facts->table.slots.items[i].fact.subject;
        if (subject->kind == TC_SUBJECT_WINDOW || subject->kind == TC_SUBJECT_FLOW ||
            subject->kind == TC_SUBJECT_USE)
            tc_fact_counter_of(w, subject, true);
    }
}

/* Does a fact break that has not broken before? Its first breach is reported with its place. */
static bool breaks_first(const struct tc_facts *facts)
{
    const struct tc_fact_table *table = &facts->table;

    for (size_t i = 0; table->is_judging && i < facts->entries.n; i++) {
        const struct tc_fact_entry *entry = &facts->entries.items[i];
        if (!table->slots.items[entry->slot].broken && tc_fact_entry_breaks(table, entry))
            return true;
    }
    return false;
}

static bool is_of_init(const struct tc_fact_counter *c)
{
    return tc_fact_is_init(c->subject.fields[TC_FACT_STAGE]);
}

/* What a count says, which follows from `cause`; returns what the next ones follow from. */
static tc_fact_lead settle_count(struct tc_facts *facts, const struct tc_fact_watch *w,
                                 const struct tc_fact_counter *c, tc_fact_lead cause)
{
    struct tc_place place;
    const bool is_first = breaks_first(facts);
    const bool is_set_up = w->is_set_up && !w->n_windows && is_of_init(c);

    cause = is_set_up && w->set_up_lead ? w->set_up_lead : cause;
    if (is_first) {
        const tc_sym line = tc_fact_find_place(facts, w, &c->subject);
        tc_place_of(facts->event, &place);
        if (is_set_up)
            place = w->set_up;
        place.at = line != TC_SYM_EMPTY ? line : c->at != TC_SYM_EMPTY ? c->at : place.at;
    }
    const tc_fact_lead lead = tc_fact_settle_said(facts, 1, cause, is_first ? &place : NULL);
    facts->has_origin = false;
    return cause ? cause : lead;
}

/* Does it go from or to a call that a limit of the trace cut, or perhaps from one? Which of its
 * flows are told is chance, where what flows is drawn. */
static bool is_cut(const struct tc_fact_watch *w, const struct tc_fact_counter *c)
{
    uint64_t ignored;

    return c->subject.kind == TC_SUBJECT_FLOW &&
           (tc_fact_is_hidden(w, &c->subject) ||
            tc_map_get(&w->cut, c->subject.fields[TC_FACT_FN], &ignored) ||
            tc_map_get(&w->cut, c->subject.fields[TC_FACT_IN], &ignored));
}

/* Learning, were there perhaps more calls in this window than are reported? */
static bool has_more(const struct tc_facts *facts, const struct tc_fact_watch *w,
                     const struct tc_fact_counter *c)
{
    uint64_t ignored;

    return !facts->table.is_judging && c->n >= TC_ROLE_MAX_OF_A_FUNCTION &&
           tc_map_get(&w->cut, c->subject.fields[TC_FACT_FN], &ignored);
}

static void leave_out(struct tc_facts *facts, const struct tc_fact_watch *w,
                      struct tc_fact_counter *c)
{
    c->n = 0;
    for (unsigned i = 0; facts->table.is_judging && i < TC_FACT_N_TALLIES; i++)
        if (tc_fact_is_tallied(w, (enum tc_fact_tally)i))
            tc_fact_excuse(facts, tc_fact_counter_slot(facts, c, (enum tc_fact_tally)i),
                           TC_EXCUSE_CUT);
}

static tc_fact_lead say_counts(struct tc_facts *facts, struct tc_fact_watch *w, tc_fact_lead lead)
{
    w->pass = tc_fact_pass_of(facts, w);
    for (size_t i = 0; i < w->counters.n; i++) {
        struct tc_fact_counter *c = &w->counters.items[i];
        if (is_cut(w, c)) {
            leave_out(facts, w, c);
            continue;
        }
        if (!c->is_reported && w->n_windows)
            say_absent(facts, c, w->n_windows, NULL);
        c->is_reported = true;
        c->has_more = has_more(facts, w, c);
        say_count(facts, c, TC_FACT_TALLY_ALL, c->n);
        c->n_first = w->n_windows ? c->n_first : c->n;
        if (c->n && c->subject.kind != TC_SUBJECT_FLOW)
            tc_fact_sequence_add(facts, &c->sequence, w->n_windows, &c->n, sizeof(c->n));
        if (w->n_windows)
            say_count(facts, c, TC_FACT_TALLY_LATER, c->n);
        else if (facts->table.is_judging || c->subject.kind != TC_SUBJECT_FLOW)
            say_count(facts, c, TC_FACT_TALLY_FIRST, c->n);
        if (c->n)
            say_count(facts, c, TC_FACT_TALLY_WHERE, c->n);
        lead = settle_count(facts, w, c, lead);
        c->n = 0;
    }
    w->pass = (struct tc_fact_pass){0};
    return lead;
}

/* ---- the first window ------------------------------------------------------------------------ */

/* Would it break how often it is called by the end of the first step? */
static bool is_amiss(struct tc_facts *facts, struct tc_fact_counter *c)
{
    const uint32_t slot = tc_fact_counter_slot(facts, c, TC_FACT_TALLY_FIRST);
    struct tc_strbuf *text = &facts->pack.bytes;

    tc_strbuf_reset(text);
    tc_strbuf_add_int(text, (int64_t)c->n);
    const struct tc_fact_entry entry = {
        .slot = slot, .value = tc_strtab_find(facts->table.symbols, text->text, text->size)};
    return slot != UINT32_MAX && tc_fact_entry_breaks(&facts->table, &entry);
}

/* What was made too often, or not at all, is the cause of what the first step shows. It is reported
 * at the end of that: a process that takes no step says nothing of it. */
void tc_fact_set_up(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    const char *stage = tc_strtab_text(facts->table.symbols, call->stage);

    if (w->is_set_up || (strcmp(stage, "training") != 0 && strcmp(stage, "evaluation") != 0))
        return;
    w->is_set_up = true;
    tc_place_of(facts->event, &w->set_up);
    w->set_up.call = TC_SYM_EMPTY;
    expect_counters(facts, w);
    for (size_t i = 0; !w->set_up_lead && i < w->counters.n; i++) {
        struct tc_fact_counter *c = &w->counters.items[i];
        if (is_of_init(c) && is_amiss(facts, c))
            w->set_up_lead = c->slots[TC_FACT_TALLY_FIRST] + 1;
    }
    w->last_lead = w->last_lead ? w->last_lead : w->set_up_lead;
}

/* Learning, at the end of a run: what flowed while it was set up, and then never more. */
void tc_fact_say_set_up(struct tc_facts *facts, struct tc_fact_watch *w)
{
    for (size_t i = 0; w->n_windows && i < w->counters.n; i++) {
        struct tc_fact_counter *c = &w->counters.items[i];
        if (c->subject.kind != TC_SUBJECT_FLOW || !c->n_all)
            continue;
        if (c->n_all == c->n_first && !is_cut(w, c))
            say_count(facts, c, TC_FACT_TALLY_FIRST, c->n_first);
        else if (tc_fact_counter_slot(facts, c, TC_FACT_TALLY_FIRST) != UINT32_MAX)
            tc_fact_table_add(&facts->table, c->slots[TC_FACT_TALLY_FIRST], LATER, strlen(LATER),
                              &facts->entries);
        tc_fact_settle_said(facts, 1, 0, NULL);
    }
}

/* Learning, what other processes of the run called and this one did not. */
void tc_fact_say_absent(struct tc_facts *facts, struct tc_fact_watch *w,
                        const struct tc_fact_watch *other, const struct tc_place *place)
{
    for (size_t i = 0; w->n_windows && i < other->counters.n; i++) {
        const struct tc_subject *subject = &other->counters.items[i].subject;
        if (tc_strtab_find(w->counter_tuples, subject, sizeof(*subject)) == TC_NO_SYM)
            say_absent(facts, tc_fact_counter_of(w, subject, true), w->n_windows, place);
    }
}

/* ---- the end of a window --------------------------------------------------------------------- */

void tc_fact_window_ends(struct tc_facts *facts, struct tc_fact_watch *w,
                         const struct tc_window *window)
{
    if (!window->has_step || w->process->is_sampled)
        return;
    if (!w->n_windows) {
        expect_counters(facts, w);
        const tc_fact_lead first = tc_fact_tell_strays(facts, w);
        w->last_lead = w->last_lead ? w->last_lead : first;
        tc_fact_say_trainable(facts, w, TC_ATTRIBUTE_TRAINABLE);
    }
    tc_fact_lead lead = tc_fact_settle_said(facts, 1, w->last_lead, NULL);
    lead = say_counts(facts, w, w->last_lead ? w->last_lead : lead);
    tc_place_of(facts->event, &w->last);
    lead = tc_fact_say_changes(facts, w, lead);
    w->setting_lead = 0;
    if (!w->last_lead && tc_fact_lead_is_law(lead))
        w->last_lead = lead;
    w->n_windows++;
    w->n_backwards = 0;
}
