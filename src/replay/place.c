/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - questions to a call, a process or an event that need no state
 *
 * Times are sums that saturate to 0, "unknown", instead of overflowing: traces may hold anything.
 * tc_place_of() puts together what a report says of where an event was; what it points to lives as
 * long as the process and its calls.
 */
#include "replay/event.h"

#include <string.h>

#include "replay/symbols.h"
#include "trace/member.h"

int64_t tc_process_time(const struct tc_process *process, int64_t t)
{
    int64_t sum;

    return __builtin_add_overflow(process->unix_ns, t, &sum) ? 0 : sum;
}

tc_sym tc_call_at(const struct tc_call *call)
{
    while (call->parent && call->at == TC_SYM_EMPTY)
        call = call->parent;
    return call->at;
}

const struct tc_value *tc_call_next_tensor(const struct tc_call *call, uint32_t *pos)
{
    const struct tc_value *args = call->args;

    while (args && args->kind == TC_VALUE_OBJECT && *pos < args->n) {
        const struct tc_value *operand = &args->members[(*pos)++].value;
        if (tc_is_tensor(operand))
            return operand;
    }
    return NULL;
}

bool tc_requires_gradient(const struct tc_value *operand)
{
    const struct tc_value *requires_grad =
        tc_member_at(operand, TC_PLACE_REQUIRES_GRAD, "requires_grad");

    return tc_value_is_true(requires_grad);
}

uint32_t tc_count_elements(const struct tc_value *shape)
{
    uint64_t n = 1;

    if (!shape || shape->kind != TC_VALUE_ARRAY)
        return 0;
    for (uint32_t i = 0; i < shape->n; i++) {
        const int64_t size = tc_value_int(&shape->items[i], 0);
        if (size < 0 || size > UINT32_MAX)
            return UINT32_MAX;
        n *= (uint64_t)size;
        if (n > UINT32_MAX)
            return UINT32_MAX;
    }
    return (uint32_t)n;
}

bool tc_call_has_closure(const struct tc_call *call)
{
    const struct tc_value *closure = tc_value_get(call->args, "closure");

    return closure && closure->kind != TC_VALUE_NULL;
}

const struct tc_value *tc_call_group(const struct tc_call *call)
{
    return tc_value_get(tc_value_get(call->args, "param_group"), "dict");
}

int64_t tc_call_next_in_group(const struct tc_call *call, uint32_t *pos)
{
    const struct tc_value *params = tc_value_get(tc_call_group(call), "params");
    int64_t serial = TC_NONE;

    while (serial == TC_NONE && params && params->kind == TC_VALUE_ARRAY && *pos < params->n)
        serial = tc_value_int(tc_value_get(&params->items[(*pos)++], "id"), TC_NONE);
    return serial;
}

bool tc_call_is_training(const struct tc_call *call)
{
    const struct tc_value *mode =
        call ? tc_value_get(tc_value_get(call->self, "attrs"), "training") : NULL;

    return tc_value_is_true(mode);
}

bool tc_call_is_within(const struct tc_call *call, enum tc_role role)
{
    while (call && call->role != role)
        call = call->parent;
    return call;
}

static int64_t moment(const struct tc_process *process, int64_t t)
{
    int64_t sum;

    return __builtin_add_overflow(process->unix_ns, t, &sum) ? INT64_MAX : sum;
}

int64_t tc_process_began(const struct tc_process *process)
{
    return moment(process, process->first_t);
}

int64_t tc_process_lived_until(const struct tc_process *process)
{
    return moment(process, process->last_t);
}

int64_t tc_process_wall_time(const struct tc_process *process, int64_t t)
{
    return process->unix_ns ? tc_process_time(process, t) : 0;
}

static void set_times(struct tc_place *place, const struct tc_process *process, int64_t begin_t,
                      int64_t end_t)
{
    place->begin_ns = tc_process_time(process, begin_t);
    place->end_ns = tc_process_time(process, end_t);
    place->unix_ns = process->unix_ns ? place->end_ns : 0;
}

static void set_function(struct tc_place *place, const struct tc_call *own,
                         const struct tc_call *call)
{
    if (!own || own == call || call->th)
        return;
    place->in = own->fn;
    place->in_at = own->at;
}

static void set_call(struct tc_place *place, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    place->at = tc_call_at(call);
    place->call = call->descriptor;
    set_function(place, event->process->own, call);
    if (event->kind == TC_EVENT_CHANGE) /* the call may have begun many steps ago */
        return;
    place->step = call->step;
    place->window = call->window;
    place->stage = call->stage;
    set_times(place, event->process, call->t,
              event->kind == TC_EVENT_BEGIN ? call->t : call->end_t);
}

/* A window has no line of its own: that of its optimizer step is where the reader looks. */
static void set_window(struct tc_place *place, const struct tc_event *event)
{
    const struct tc_window *window = event->window;

    place->step = window->step;
    place->window = window->number;
    place->stage = window->stage;
    place->at = TC_SYM_EMPTY;
    place->call = TC_SYM_EMPTY;
    set_times(place, event->process, window->begin_t, window->t);
    for (size_t i = 0; i < window->members.n; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        if (!member->is_void && (member->role == TC_ROLE_STEP || place->at == TC_SYM_EMPTY))
            place->at = member->at;
    }
}

void tc_place_of(const struct tc_event *event, struct tc_place *out)
{
    const struct tc_process *process = event->process;

    *out = (struct tc_place){.file = process->file,
                             .rank = process->rank,
                             .is_worker = process->is_worker,
                             .order = event->order,
                             .in = TC_NO_SYM,
                             .in_at = TC_NO_SYM,
                             .n_before = process->n_recent};
    memcpy(out->before, process->recent, sizeof(out->before));
    if (event->window && (!event->call || event->kind == TC_EVENT_CHANGE))
        set_window(out, event);
    if (event->kind == TC_EVENT_CHANGE)
        set_times(out, process, event->window->t, event->window->t);
    if (event->call)
        set_call(out, event);
}
