/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_adding.c - what ranks did to add up their gradients
 *
 * A replica that has diverged is seen at the end of a step. What kept the ranks from adding up
 * their gradients stands before it: a model that was called under no_sync(), a forward past the
 * wrapper, a collective that was left out. So the last forward, backward and collective of a step
 * are kept. A model that adds gradients up says in its attributes whether it does.
 */
#include "relation/replica_adding.h"

#include "replay/symbols.h"

static void on_forward(struct tc_adding *adding, const struct tc_event *event)
{
    const struct tc_value *adds =
        tc_value_get(tc_value_get(event->call->self, "attrs"), "require_backward_grad_sync");

    adding->how = !adds                    ? TC_ADDING_NOTHING
                  : tc_value_is_true(adds) ? TC_ADDING_MODEL
                                           : TC_ADDING_OFF;
    adding->forward = tc_spot_of(event);
    adding->backward.call = TC_SYM_EMPTY;
}

/* Numbers that are logged have one element. */
static bool is_of_several(const struct tc_call *call)
{
    const struct tc_value *tensor = tc_call_next_tensor(call, &(uint32_t){0});

    return tensor && tc_count_elements(tc_value_get(tensor, "shape")) > 1;
}

static void on_collective(struct tc_adding *adding, const struct tc_event *event)
{
    if (adding->how == TC_ADDING_UNKNOWN || adding->how == TC_ADDING_MODEL ||
        !is_of_several(event->call))
        return;
    adding->how = TC_ADDING_COLLECTIVE;
    adding->collective = tc_spot_of(event);
}

static struct tc_adding *adding_of(struct tc_map *map, const struct tc_process *process)
{
    struct tc_adding *known = tc_map_find(map, (uintptr_t)process);

    if (!known) {
        known = tc_map_struct(map, (uintptr_t)process, sizeof(*known));
        known->how = TC_ADDING_UNKNOWN;
    }
    return known;
}

void tc_adding_meet_call(struct tc_map *map, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    if (tc_is_training_forward(call))
        on_forward(adding_of(map, event->process), event);
    else if (call->role == TC_ROLE_BACKWARD)
        adding_of(map, event->process)->backward = tc_spot_of(event);
    else if (call->role == TC_ROLE_COLLECTIVE)
        on_collective(adding_of(map, event->process), event);
}

void tc_adding_join(const struct tc_map *map, const struct tc_process *process,
                    struct tc_adding *of_step)
{
    const struct tc_adding *own = tc_map_find(map, (uintptr_t)process);

    if (!own || own->how == TC_ADDING_UNKNOWN || own->backward.call == TC_SYM_EMPTY)
        return;
    if (of_step->backward.call != TC_SYM_EMPTY &&
        (own->how > of_step->how || (own->how == of_step->how && process->rank > of_step->rank)))
        return;
    *of_step = *own;
    of_step->rank = process->rank;
}

static void explain_spot(const struct tc_strtab *symbols, const char *before,
                         const struct tc_spot *spot, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, before);
    tc_explain_call_at(symbols, spot->call, spot->at, out);
}

void tc_adding_explain(const struct tc_strtab *symbols, const struct tc_adding *adding,
                       struct tc_strbuf *out)
{
    if (adding->backward.call == TC_SYM_EMPTY || adding->how >= TC_ADDING_MODEL)
        return;
    tc_strbuf_addf(out, "; gradients of rank %lld came", (long long)adding->rank);
    explain_spot(symbols, " of ", &adding->backward, out);
    explain_spot(symbols, " after ", &adding->forward, out);
    if (adding->forward.in != TC_NO_SYM && adding->forward.in != adding->backward.in)
        explain_spot(symbols, " in ",
                     &(struct tc_spot){.call = adding->forward.in, .at = adding->forward.in_at},
                     out);
    if (adding->how == TC_ADDING_OFF)
        tc_strbuf_adds(out, ", which was told not to add them up");
    if (adding->how == TC_ADDING_NOTHING)
        tc_strbuf_adds(out, ", and no collective followed");
    if (adding->how == TC_ADDING_COLLECTIVE)
        explain_spot(symbols, "; the last collective since was ", &adding->collective, out);
}
