/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - a call begins, and ends: the walk through all that is recorded of it
 *
 * It is named and counted (call_subject.c), what it is given is packed (call_operands.c); if the
 * bytes are known the class is settled at once, else it is read, settled and remembered
 * (call_class.c). What breaks leads to what follows (call_open.c). What it returns goes the same
 * way (call_result.c).
 */
#include "fact/call.h"

#include "fact/between_ranks.h"
#include "fact/call_class.h"
#include "fact/call_open.h"
#include "fact/call_operands.h"
#include "fact/call_result.h"
#include "fact/call_subject.h"
#include "fact/flow.h"
#include "fact/next.h"
#include "fact/occasion.h"
#include "fact/setting_facts.h"
#include "fact/trend.h"
#include "fact/variable_facts.h"
#include "fact/window_facts.h"
#include "replay/symbols.h"

static void meet_trends(struct tc_facts *facts, struct tc_fact_watch *w, struct tc_fact_open *open,
                        uint32_t subject, const char *path, const struct tc_value *value)
{
    const bool is_saved = !open->is_own && subject == open->subject;
    const tc_fact_lead cause = open->lead ? open->lead : open->flow;
    const tc_fact_lead lead = tc_fact_meet_trends(facts, w, subject, path, value, is_saved, cause);

    tc_fact_add_lead(w, open, lead, cause);
}

/* ---- a call begins --------------------------------------------------------------------------- */

/* It is counted; *outer becomes the one around it, or NULL. */
static struct tc_fact_open *open_call(struct tc_facts *facts, struct tc_fact_watch *w,
                                      const struct tc_call *call, struct tc_fact_open **outer)
{
    const size_t depth = tc_fact_call_around(facts, w, call) ? w->n_open : 0;
    struct tc_fact_open *open = tc_fact_open_call(w, call->id);

    if (facts->table.is_judging)
        tc_fact_set_up(facts, w, call);
    if (call->role == TC_ROLE_STEP)
        tc_fact_say_start(facts, w, call);
    *outer = depth ? &w->open.items[depth - 1] : NULL; /* opening may have moved it */
    open->latest = w->latest;
    open->label = tc_fact_call_label(facts, w, call);
    open->subject = tc_fact_call_subject(facts, w, open, *outer, call);
    if (tc_role_has(call->role, TC_TRAIT_FOREIGN) || call->role == TC_ROLE_BACKWARD)
        tc_map_put(&facts->own, call->descriptor, 1);
    tc_fact_count_call(facts, w, open, call);
    if (tc_fact_is_of_script(call) || tc_fact_is_of_batch(call))
        open->row = tc_fact_place_in_row(w, open);
    w->n_backwards += call->role == TC_ROLE_BACKWARD;
    if (call->role == TC_ROLE_STEP)
        tc_fact_step_begins(facts, w, call);
    return open;
}

void tc_fact_call_begins(struct tc_facts *facts, struct tc_fact_watch *w,
                         const struct tc_call *call)
{
    struct tc_fact_open *outer, *open = open_call(facts, w, call, &outer);
    struct tc_fact_class *known;
    tc_fact_lead cause;

    tc_fact_pack_operands(facts, w, open, call);
    open->flow = open->flow ? open->flow : tc_fact_taint_of_receiver(w, call);
    cause = open->flow ? open->flow : open->outer;
    if (tc_fact_is_of_script(call) || tc_fact_is_of_batch(call))
        open->lead = tc_fact_next(facts, w, outer, call, cause);
    tc_fact_note_lead(w, open->lead, cause);
    cause = cause ? cause : open->lead;
    known = tc_fact_class_of(facts);
    if (!known)
        tc_fact_read_operands(facts, w, open, call);
    tc_fact_add_lead(w, open, tc_fact_settle_class(facts, known, open->subject, cause), cause);
    tc_fact_meet_ranks(facts, w, open->subject, call, "args", call->args);
    tc_fact_meet_ranks(facts, w, open->subject, call, "self", call->self);
    if (call->role == TC_ROLE_SAVE && tc_fact_is_of_script(call))
        meet_trends(facts, w, open, open->subject, "args", call->args);
    else if (open->by_subject != UINT32_MAX && tc_fact_is_of_script(call))
        meet_trends(facts, w, open, open->by_subject, "args", call->args);
}

/* ---- a call ends ----------------------------------------------------------------------------- */

void tc_fact_call_ends(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    struct tc_fact_class *known;
    struct tc_fact_open *open;
    tc_fact_lead cause;

    while (w->n_open && w->open.items[w->n_open - 1].id > call->id)
        w->n_open--;
    if (!w->n_open || w->open.items[w->n_open - 1].id != call->id)
        return;
    open = &w->open.items[w->n_open - 1];
    facts->pack.n_tensors = 0;
    if (!call->raised) {
        tc_fact_pack_result(facts, w, open, call);
        known = tc_fact_class_of(facts);
        if (!known)
            tc_fact_read_result(facts, open, call->end);
        cause = open->lead ? open->lead : open->inner ? open->inner : open->flow;
        tc_fact_add_lead(w, open, tc_fact_settle_class(facts, known, open->subject, cause), cause);
    }
    if (!call->raised)
        tc_fact_meet_ranks(facts, w, open->subject, call, "value", call->end->value);
    tc_fact_next_ends(facts, w, open, call);
    tc_fact_note_lead(w, tc_fact_settle_said(facts, 1, open->lead, NULL), open->lead);
    tc_fact_give_on(facts, w, open, call);
    w->n_open--;
    if (w->n_open)
        w->open.items[w->n_open - 1].is_computed |= open->is_computed;
    if (w->n_open && !w->open.items[w->n_open - 1].inner)
        w->open.items[w->n_open - 1].inner = open->lead ? open->lead : open->inner;
}

/* ---- functions that the script defines ------------------------------------------------------- */

void tc_fact_own_begins(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    struct tc_fact_open *outer = tc_fact_call_around(facts, w, call), *open;
    struct tc_fact_class *known;
    tc_fact_lead cause;

    tc_vec_push(&w->own, ((struct tc_fact_open){
                             .id = call->id,
                             .last = {TC_NO_SYM, TC_NO_SYM},
                             .by_subject = UINT32_MAX,
                             .is_own = true
    }));
    open = &w->own.items[w->own.n - 1];
    open->outer = outer ? outer->lead ? outer->lead : outer->outer : 0;
    open->latest = w->latest;
    open->label = tc_fact_call_label(facts, w, call);
    open->subject = tc_fact_call_subject(facts, w, open, outer, call);
    tc_fact_count_call(facts, w, open, call);
    if (tc_fact_is_of_script(call) || tc_fact_is_of_batch(call))
        (void)tc_fact_next(facts, w, outer, call, 0);
    tc_fact_pack_own_operands(facts, w, open, call);
    cause = open->flow ? open->flow : open->outer;
    known = tc_fact_class_of(facts);
    if (!known)
        tc_fact_read_operands(facts, w, open, call);
    tc_fact_add_lead(w, open, tc_fact_settle_class(facts, known, open->subject, cause), cause);
    if (tc_fact_is_of_script(call))
        meet_trends(facts, w, open, open->subject, "args", call->args);
    tc_fact_meet_ranks(facts, w, open->subject, call, "args", call->args);
}

static void settle_own_result(struct tc_facts *facts, struct tc_fact_watch *w,
                              struct tc_fact_open *open, const struct tc_call *call)
{
    const tc_fact_lead cause = open->lead ? open->lead : open->flow;
    struct tc_fact_class *known;

    tc_fact_pack_own_result(facts, w, open, call);
    known = tc_fact_class_of(facts);
    if (!known)
        tc_fact_read_result(facts, open, call->end);
    tc_fact_add_lead(w, open, tc_fact_settle_class(facts, known, open->subject, cause), cause);
    if (tc_fact_is_of_script(call))
        meet_trends(facts, w, open, open->subject, "value", call->end->value);
    tc_fact_meet_ranks(facts, w, open->subject, call, "value", call->end->value);
    tc_fact_note_lead(w, tc_fact_settle_said(facts, 1, open->lead, NULL), open->lead);
    tc_fact_give_on_own(w, open, call);
}

void tc_fact_own_ends(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    struct tc_fact_open open;

    while (w->own.n && w->own.items[w->own.n - 1].id > call->id)
        w->own.n--;
    if (!w->own.n || w->own.items[w->own.n - 1].id != call->id)
        return;
    open = w->own.items[--w->own.n];
    if (!call->raised)
        settle_own_result(facts, w, &open, call);
}
