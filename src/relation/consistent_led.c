/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_led.c - Consistent/led: the copy that is led after the trained weights answers
 *
 * A target follows the weights that are trained, a little in each step. Where the script leads
 * clones of the target's weights, or those of a model that it has replaced since, the target that
 * is asked stays as it was, and nothing else ever reads what follows.
 *
 * A tensor is led where a line writes to it in place, ten times or more, from a trained weight of
 * its shape. An example at the end of the run for each process that leads matrices. It is broken
 * where no call has read one, and a model that no step trains has a matrix of the same name and
 * shape, was asked ten times without gradients, and never changed. Whoever saves or loads may read
 * what is led, so that nothing is said.
 */
#include "relation/consistent.h"
#include "relation/third_time.h"

#include <string.h>

#include "replay/symbols.h"

/* A tensor that is led. */
struct led {
    int64_t serial, of; /* its own, and that of the weight */
    uint64_t n;
    bool is_read;
    struct tc_place place; /* of the first time */
};

/* A root. */
struct asked {
    uint64_t n; /* forwards without gradients */
    bool is_trained;
};

/* Of one process. */
struct leading {
    const struct tc_process *process;
    struct tc_map led;   /* serial → struct led * */
    struct tc_map roots; /* serial → struct asked * */
    bool is_stored;      /* something was saved or loaded while it leads */
};

static void leading_release(void *of_process)
{
    struct leading *leading = of_process;

    tc_map_release_structs(&leading->led);
    tc_map_release_structs(&leading->roots);
}

/* ---- looking -------------------------------------------------------------------------------- */

/* "lerp_", and no "__setitem__". */
static bool is_in_place(const struct tc_strtab *symbols, const struct tc_call *call)
{
    const char *fn = tc_strtab_text(symbols, call->fn);
    const size_t n = strlen(fn);

    return (call->role == TC_ROLE_OPERATOR || call->role == TC_ROLE_FILL) && n > 1 &&
           fn[n - 1] == '_' && fn[n - 2] != '_' && tc_n_dimensions(call->self) == 2;
}

/* The trained weight of its shape from which the tensor is written; NULL: there is none. */
static const struct tc_variable *leader(const struct tc_event *event)
{
    const struct tc_value *operand, *self = event->call->self;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(event->call, &pos));) {
        const struct tc_variable *v = tc_process_variable(event->process, tc_serial_of(operand));
        if (v && v->stepped >= 0 && tc_size_of(operand, 0) == tc_size_of(self, 0) &&
            tc_size_of(operand, 1) == tc_size_of(self, 1) &&
            tc_serial_of(operand) != tc_serial_of(self))
            return v;
    }
    return NULL;
}

static void lead(struct leading *leading, const struct tc_event *event,
                 const struct tc_variable *of)
{
    const int64_t serial = tc_serial_of(event->call->self);
    struct led *led = tc_map_struct(&leading->led, (uint64_t)serial, sizeof(*led));

    if (!led->n++)
        tc_place_of(event, &led->place);
    led->serial = serial;
    led->of = of->serial;
}

static void note_read(struct leading *leading, const struct tc_value *operand)
{
    struct led *led = tc_map_find(&leading->led, (uint64_t)tc_serial_of(operand));

    if (led)
        led->is_read = true;
}

static void on_forward(struct leading *leading, const struct tc_call *call)
{
    struct asked *asked =
        tc_map_struct(&leading->roots, (uint64_t)tc_serial_of(call->self), sizeof(*asked));
    const bool is_without = tc_value_get(call->ctx, "grad") != NULL;

    asked->n += is_without;
    asked->is_trained |= !is_without;
}

static void on_call(struct leading *leading, const struct tc_strtab *symbols,
                    const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const bool writes = is_in_place(symbols, call);
    const struct tc_variable *of = writes ? leader(event) : NULL;
    const struct tc_value *operand;

    if (call->is_root)
        on_forward(leading, call);
    if (of)
        lead(leading, event, of);
    leading->is_stored |=
        leading->led.n && (call->role == TC_ROLE_SAVE || call->role == TC_ROLE_LOAD);
    if (!writes)
        note_read(leading, call->self);
    for (uint32_t pos = 0; leading->led.n && (operand = tc_call_next_tensor(call, &pos));)
        note_read(leading, operand);
}

/* ---- judging -------------------------------------------------------------------------------- */

static const struct asked *asked_of(const struct leading *leading, int64_t root)
{
    return tc_map_find(&leading->roots, (uint64_t)root);
}

/* The matrix of a model that only answers, which stayed as it was, beside that of the leader. */
static const struct tc_variable *left_behind(const struct leading *leading,
                                             const struct tc_strtab *symbols,
                                             const struct tc_variable *of)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&leading->process->variables, &pos));) {
        const struct asked *asked = asked_of(leading, v->root);
        if (asked && !asked->is_trained && asked->n >= TC_TENTH_TIME && v->root != of->root &&
            v->kind == TC_SYM_PARAMETER && v->is_matrix && v->has_data && v->has_first &&
            v->data == v->first_data && v->stepped < 0 && v->shape == of->shape &&
            !strcmp(tc_name_in_model(symbols, v), tc_name_in_model(symbols, of)))
            return v;
    }
    return NULL;
}

static void judge_leading(const struct leading *leading, const struct tc_strtab *symbols,
                          const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_variable *behind = NULL, *first = NULL;
    const struct led *led, *lost = NULL;

    for (size_t pos = 0; (led = tc_map_next(&leading->led, &pos));) {
        const struct tc_variable *of = tc_process_variable(leading->process, led->of),
                                 *v = tc_process_variable(leading->process, led->serial);
        const bool is_asked = led->is_read || (v && asked_of(leading, v->root));
        if (led->n < TC_TENTH_TIME || !of)
            continue;
        first = first ? first : of;
        if (!is_asked && !behind && (behind = left_behind(leading, symbols, of)))
            lost = led;
    }
    if (!first || leading->is_stored)
        return;
    const tc_sym outcome = lost ? TC_SYM_UNCHANGED : TC_SYM_CHANGED;
    const struct tc_example example = {.key = TC_SYM_OWNED,
                                       .situation = &tc_no_situation,
                                       .outcome = &outcome,
                                       .n_outcome = 1,
                                       .variable = lost ? behind : first,
                                       .place = lost ? &lost->place : NULL};
    sink->example(sink->context, event, &example);
}

static void led_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    struct tc_process_states *states = state;
    struct leading *leading;

    if (event->kind == TC_EVENT_FINISH)
        for (size_t pos = 0; (leading = tc_map_next(&states->items, &pos));)
            judge_leading(leading, symbols, event, sink);
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || event->call->raised)
        return;
    leading = tc_process_state(state, event->process);
    leading->process = event->process;
    on_call(leading, symbols, event);
}

const struct tc_source tc_source_led = {.name = "led",
                                        .judged = "the end of the run, where a line leads weights "
                                                  "after those that are trained",
                                        .is_set = true,
                                        .looks_closely = true,
                                        .process_size = sizeof(struct leading),
                                        .release_process = leading_release,
                                        .observe = led_observe};

static const struct tc_claim claims[] = {
    {.key = {TC_SYM_OWNED},
     .kind = TC_SYM_PARAMETER,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_DATA,
     .to = TC_SYM_OWNED,
     .held = {TC_SYM_CHANGED},
     .broken = {TC_SYM_UNCHANGED},
     .if_met = true,
     .support = TC_SUPPORT_RULE,
     .expected = "what is led after the trained weights is what answers, or is read",
     .seen =
         "weights were led after the trained ones and never read, while %v, which answers, never "
         "changed%p"},
};

const struct tc_relation tc_consistent_led = {
    .name = "Consistent/led",
    .summary = "the copy that is led after the trained weights answers",
    .hint = "Are these the weights of the target itself, or clones, or those of a model that was "
            "replaced?",
    .needs_operators = true,
    .source = &tc_source_led,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
