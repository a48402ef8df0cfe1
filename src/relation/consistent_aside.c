/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_aside.c - Consistent/aside: weights that were put aside are put back
 *
 * A model is evaluated with an average of its weights: the trained ones are put aside, the average
 * is copied in, and afterwards the trained ones are copied back. Without the last part training
 * goes on from the average, with moments of other weights, and what was put aside was put aside in
 * vain.
 *
 * A matrix that is trained is put aside where a line makes something of its size of it alone, and
 * then copies something else into it. An example for the next forward of training after the model
 * has answered without gradients. It holds where a call has read what was put aside, and is broken
 * from the third on where none has. What is loaded or saved may be it, so that nothing is said.
 */
#include "relation/one_claim.h"
#include "relation/operand.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_KNOWN 4096

/* What was put aside of one variable. */
struct aside {
    int64_t copy; /* its serial; TC_NONE: nothing */
    int64_t root; /* of the variable */
    bool is_overwritten, is_asked;
    struct tc_place place; /* where it was overwritten */
};

/* Of one process. */
struct asides {
    struct tc_map of_variables; /* serial of a variable → struct aside * */
    struct tc_map copies;       /* serial of what was made → that of its variable */
    uint64_t n_left;            /* forwards of training with what was copied in */
};

static void asides_release(void *of_process)
{
    struct asides *asides = of_process;

    tc_map_release_structs(&asides->of_variables);
    tc_map_release(&asides->copies);
}

static struct aside *aside_of(struct asides *asides, int64_t variable)
{
    return tc_map_find(&asides->of_variables, (uint64_t)variable);
}

static const struct tc_variable *trained_matrix(const struct tc_process *process,
                                                const struct tc_value *tensor)
{
    const struct tc_variable *v =
        tensor ? tc_process_variable(process, tc_serial_of(tensor)) : NULL;

    return v && v->is_matrix && v->stepped >= 0 && v->root != TC_NONE ? v : NULL;
}

/* A call has read it: it is not aside any more. */
static void note_read(struct asides *asides, const struct tc_value *tensor)
{
    uint64_t variable;
    struct aside *aside;

    if (!tc_map_get(&asides->copies, (uint64_t)tc_serial_of(tensor), &variable))
        return;
    aside = aside_of(asides, (int64_t)variable);
    if (aside && aside->copy == tc_serial_of(tensor))
        aside->copy = TC_NONE;
}

static void put_aside(struct asides *asides, const struct tc_variable *v, int64_t copy)
{
    struct aside *aside = tc_map_struct(&asides->of_variables, (uint64_t)v->serial, sizeof(*aside));

    *aside = (struct aside){.copy = copy, .root = v->root};
    tc_map_remember(&asides->copies, MAX_KNOWN, (uint64_t)copy, (uint64_t)v->serial);
}

static void on_call(struct asides *asides, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *value = call->end->value, *operand, *first = NULL;
    const struct tc_variable *v = trained_matrix(event->process, call->self);
    uint32_t n = 0;
    struct aside *aside;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos)); n++) {
        note_read(asides, operand);
        first = first ? first : operand;
    }
    if (call->self)
        note_read(asides, call->self);
    if (!v)
        return;
    if (call->role == TC_ROLE_FILL && first && (aside = aside_of(asides, v->serial))) {
        aside->is_overwritten = true;
        tc_place_of(event, &aside->place);
    } else if (call->role == TC_ROLE_OPERATOR && !n && value && !tc_requires_gradient(value) &&
               tc_operand_is_same_shape(tc_value_get(call->self, "shape"),
                                        tc_value_get(value, "shape")) &&
               tc_serial_of(value) != v->serial) {
        put_aside(asides, v, tc_serial_of(value));
    }
}

static void on_forward(const struct tc_hearing *h, struct asides *asides)
{
    const struct tc_call *call = h->event->call;
    const int64_t root = tc_serial_of(call->self);
    const struct tc_place *place = NULL;
    bool is_met = false;
    struct aside *aside;

    for (size_t pos = 0; (aside = tc_map_next(&asides->of_variables, &pos));) {
        if (aside->root != root || !aside->is_overwritten)
            continue;
        if (tc_value_get(call->ctx, "grad"))
            aside->is_asked = true;
        if (!tc_is_training_forward(call) || !aside->is_asked)
            continue;
        is_met = true;
        place = aside->copy != TC_NONE ? &aside->place : place;
        aside->is_overwritten = false;
    }
    if (!is_met)
        return;
    asides->n_left += place != NULL;
    if (!place || asides->n_left >= TC_THIRD_TIME)
        tc_answer_of(h, !place, (struct tc_example){.place = place});
}

static void aside_judge(const struct tc_hearing *h)
{
    struct asides *asides = tc_hearing_state(h);
    const struct tc_call *call = h->event->call;

    if (call->role == TC_ROLE_LOAD || call->role == TC_ROLE_SAVE) {
        tc_map_release_structs(&asides->of_variables);
    } else if (call->is_root) {
        on_forward(h, asides);
    } else {
        on_call(asides, h->event);
    }
}

const struct tc_relation_rule tc_rule_aside = {
    TC_RULE(tc_rule_aside),
    .form.name = "Consistent/aside",
    .form.summary = "weights that were put aside are put back",
    .form.hint = "Are the trained weights copied back after the evaluation?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_operators = true,
    .source.name = "aside",
    .source.judged = "a forward of training after an evaluation with other weights",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct asides),
    .source.release_process = asides_release,
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_KEPT),
    TC_CLAIM_ATOMS(TC_SYM_DATA, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "trained weights that were put aside for an evaluation are put back",
    .claim.seen = "weights were put aside, others were copied in and evaluated, and training went "
                  "on with those, for the third time or more%p",
    .at = TC_AT_ROOT | TC_AT(OPERATOR) | TC_AT(FILL) | TC_AT(FUNCTION) | TC_AT(LOAD) | TC_AT(SAVE) |
          TC_AT(METHOD) | TC_AT(OWN),
    .judge = aside_judge,
};
