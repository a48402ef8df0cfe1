/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_open.c - calls that are open, and what follows from what broke in them
 *
 * What breaks first by a call is its lead. It follows from what broke in the calls around it, or in
 * those that made its operands: these carry a taint.
 */
#include "fact/call_open.h"

/* Records of calls may be lost: what stands above the parent has ended. */
struct tc_fact_open *tc_fact_call_around(const struct tc_facts *facts, struct tc_fact_watch *w,
                                         const struct tc_call *call)
{
    const struct tc_call *parent = call->parent;

    while (parent && tc_fact_passes_over(facts, parent))
        parent = parent->parent;
    while (w->n_open && (!parent || w->open.items[w->n_open - 1].id != parent->id))
        w->n_open--;
    return w->n_open ? &w->open.items[w->n_open - 1] : NULL;
}

struct tc_fact_open *tc_fact_open_call(struct tc_fact_watch *w, int64_t id)
{
    if (w->n_open == w->open.n)
        tc_vec_push(&w->open, (struct tc_fact_open){0});
    struct tc_fact_open *open = &w->open.items[w->n_open];
    *open = (struct tc_fact_open){
        .id = id, .last = {TC_NO_SYM, TC_NO_SYM}
    };
    if (w->n_open++)
        open->outer = open[-1].lead ? open[-1].lead : open[-1].outer;
    return open;
}

bool tc_fact_is_operand(const struct tc_fact_open *open, int64_t serial)
{
    for (size_t i = 0; i < open->operands.n_tensors; i++)
        if (open->operands.tensors[i] == serial)
            return true;
    return false;
}

/* ---- causes ---------------------------------------------------------------------------------- */

tc_fact_lead tc_fact_taint_of(const struct tc_fact_watch *w, const struct tc_fact_pack *pack)
{
    uint64_t lead;

    for (size_t i = 0; w->taints.n && i < pack->n_tensors; i++)
        if (tc_map_get(&w->taints, (uint64_t)pack->tensors[i], &lead))
            return (tc_fact_lead)lead;
    return 0;
}

int64_t tc_fact_thing_of(const struct tc_call *call)
{
    const bool is_module = tc_value_get(tc_value_get(call->self, "attrs"), "training");

    return tc_value_get(call->self, "object") && !is_module
               ? tc_value_int(tc_value_get(call->self, "id"), TC_NONE)
               : TC_NONE;
}

tc_fact_lead tc_fact_taint_of_receiver(const struct tc_fact_watch *w, const struct tc_call *call)
{
    const int64_t thing = tc_fact_thing_of(call);
    uint64_t lead;

    return thing != TC_NONE && tc_map_get(&w->taints, (uint64_t)thing, &lead) ? (tc_fact_lead)lead
                                                                              : 0;
}

void tc_fact_note_lead(struct tc_fact_watch *w, tc_fact_lead lead, tc_fact_lead cause)
{
    if (lead && !cause && tc_fact_lead_is_law(lead))
        w->last_lead = lead;
}

/* What breaks first by a call is what others follow from. */
void tc_fact_add_lead(struct tc_fact_watch *w, struct tc_fact_open *open, tc_fact_lead lead,
                      tc_fact_lead cause)
{
    tc_fact_note_lead(w, lead, cause);
    open->lead = open->lead ? open->lead : lead;
}
