/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_undone.c - EventContain/undone: what a load gave is not initialised again
 *
 * Weights that a load wrote, and of which all are initialised before the model trains with them,
 * were loaded in vain. Of a head alone that is usual. Of matrices, as initialisers often leave out
 * biases. By the calls that write: variables are looked at from the first forward on. An example
 * for each model that trains for the first time after a load.
 */
#include "relation/claims.h"

#include <string.h>

#include "relation/form.h"
#include "replay/symbols.h"

/* What a load wrote to a matrix, as long as the model has not trained with it. */
struct fresh {
    const struct tc_process *process;
    int64_t serial;
    bool is_undone;
    tc_sym at; /* of the initialiser */
};

struct undone_state {
    TC_VEC(struct fresh) items;
};

static void undone_release(void *state)
{
    tc_vec_release(&((struct undone_state *)state)->items);
}

static struct fresh *find(struct undone_state *s, const struct tc_process *process, int64_t serial)
{
    for (size_t i = 0; i < s->items.n; i++)
        if (s->items.items[i].process == process && s->items.items[i].serial == serial)
            return &s->items.items[i];
    return NULL;
}

/* A matrix, or what has more dimensions. */
static bool is_weight(const struct tc_value *operand)
{
    const struct tc_value *shape = tc_value_get(operand, "shape");

    return tc_value_is(tc_value_get(operand, "tensor"), "Parameter") && shape &&
           shape->kind == TC_VALUE_ARRAY && shape->n > 1;
}

/* The weight that the call writes to: its receiver, or its first operand; TC_NONE for none. */
static int64_t weight_of(const struct tc_call *call)
{
    const struct tc_value *operand = call->self;

    if (!operand && call->args && call->args->kind == TC_VALUE_OBJECT && call->args->n)
        operand = &call->args->members[0].value;
    return is_weight(operand) ? tc_value_int(tc_value_get(operand, "id"), TC_NONE) : TC_NONE;
}

static void on_write(struct undone_state *s, const struct tc_process *process,
                     const struct tc_call *call)
{
    const int64_t serial = weight_of(call);
    struct fresh *fresh = serial == TC_NONE ? NULL : find(s, process, serial);

    if (serial == TC_NONE)
        return;
    if (tc_call_is_within(call, TC_ROLE_LOAD)) {
        const struct fresh loaded = {.process = process, .serial = serial};
        if (!fresh)
            tc_vec_push(&s->items, loaded);
        else
            *fresh = loaded;
    } else if (fresh && !fresh->is_undone && call->role == TC_ROLE_INIT) {
        fresh->is_undone = true;
        fresh->at = tc_call_at(call);
    }
}

/* Those of the root, which are then fresh no more. */
static void on_forward(struct undone_state *s, const struct tc_event *event,
                       const struct tc_sink *sink)
{
    const int64_t root = tc_value_int(tc_value_get(event->call->self, "id"), TC_NONE);
    const struct tc_situation none = {.n = 0};
    const struct tc_variable *first = NULL;
    size_t kept = 0, n = 0, n_undone = 0;
    tc_sym outcome, at = TC_SYM_EMPTY;
    struct tc_place place;

    for (size_t i = 0; i < s->items.n; i++) {
        const struct fresh fresh = s->items.items[i];
        const struct tc_variable *v = fresh.process == event->process
                                          ? tc_process_variable(event->process, fresh.serial)
                                          : NULL;
        if (!v || v->root != root) {
            s->items.items[kept++] = fresh;
            continue;
        }
        n++;
        n_undone += fresh.is_undone;
        at = at == TC_SYM_EMPTY && fresh.is_undone ? fresh.at : at;
        first = !first || v->serial < first->serial ? v : first;
    }
    s->items.n = kept;
    if (!n)
        return;
    outcome = n_undone == n ? TC_SYM_CHANGED : TC_SYM_KEPT;
    tc_place_of(event, &place);
    place.at = at == TC_SYM_EMPTY ? place.at : at;
    const struct tc_example example = {.key = TC_SYM_PARAMETER,
                                       .situation = &none,
                                       .outcome = &outcome,
                                       .n_outcome = 1,
                                       .place = &place,
                                       .variable = first};
    sink->example(sink->context, event, &example);
}

static void undone_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || call->raised)
        return;
    if (call->role == TC_ROLE_INIT || call->role == TC_ROLE_FILL)
        on_write(state, event->process, call);
    else if (call->is_root && tc_is_training_forward(call))
        on_forward(state, event, sink);
}

const struct tc_source tc_source_undone = {.name = "undone",
                                           .is_set = true,
                                           .state_size = sizeof(struct undone_state),
                                           .release = undone_release,
                                           .observe = undone_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_PARAMETER},
     .kind = TC_SYM_PARAMETER,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_DATA,
     .to = TC_SYM_KEPT,
     .held = {TC_SYM_KEPT},
     .broken = {TC_SYM_CHANGED},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .min_examples = 1,
     .expected = "of what a load gave, some is left when the model trains with it",
     .seen = "all matrices that were loaded have been initialised since, %v among them",
     },
};

const struct tc_relation tc_event_contain_undone = {
    .name = "EventContain/undone",
    .summary = "weights that were loaded are not all initialised again before the model trains",
    .hint = "Is the initialiser applied to the whole model after its weights were loaded?",
    .source = &tc_source_undone,
    .excused_by = 1u << TC_ROLE_LOAD | 1u << TC_ROLE_INIT | 1u << TC_ROLE_FILL,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
