/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_thawed.c - Consistent/thawed: what was trained before a resume is trained after it
 *
 * A body is thawed at one step exactly, and a run that resumes behind that step has it frozen for
 * good, though its optimizer has the moments of it.
 *
 * Weights of two models are the same if they have one name and one shape. There is an example for
 * each step of an optimizer whose state was loaded, of each weight whose like was trained in the
 * last step of its own optimizer before that load. It holds if the weight requires a gradient, and
 * is broken from the third step in a row on if it does not: a script may thaw it in between.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* The last variable of a name that a step has changed. */
struct trained {
    int64_t serial, step; /* id of that step */
    tc_sym shape;
};

/* Of one optimizer. */
struct loaded {
    int64_t id; /* of the load */
    uint64_t n_frozen;
};

/* Of one process. */
struct thawing {
    struct tc_map trained; /* name → struct trained * */
    struct tc_map loaded;  /* serial of an optimizer → struct loaded * */
    struct tc_spot froze;  /* the last call that did; at TC_SYM_EMPTY: none */
};

static void thawing_release(void *of_process)
{
    struct thawing *thawing = of_process;

    tc_map_release_structs(&thawing->trained);
    tc_map_release_structs(&thawing->loaded);
}

/* Was its like trained to the end, before the load? */
static bool was_trained(const struct thawing *thawing, const struct tc_process *process,
                        const struct tc_variable *v, const struct loaded *loaded)
{
    const struct trained *trained = tc_map_find(&thawing->trained, v->name);
    const struct tc_variable *before =
        trained ? tc_process_variable(process, trained->serial) : NULL;

    return before && before != v && trained->shape == v->shape && trained->step < loaded->id &&
           before->stepped == trained->step;
}

static void on_loaded_step(const struct tc_hearing *h, const struct thawing *thawing,
                           struct loaded *loaded)
{
    const struct tc_call *call = h->event->call;
    bool is_frozen = false;
    struct tc_place place;

    tc_place_of(h->event, &place);
    if (thawing->froze.at != TC_SYM_EMPTY)
        tc_place_move(&place, &thawing->froze);
    for (size_t i = 0; i < call->n_params; i++) {
        const struct tc_variable *v = tc_process_variable(h->event->process, call->params[i]);
        if (!v || !was_trained(thawing, h->event->process, v, loaded))
            continue;
        if (v->requires_grad)
            tc_answer_of(h, true, (struct tc_example){.variable = v});
        else if (loaded->n_frozen + 1 >= TC_THIRD_TIME)
            tc_answer_of(h, false, (struct tc_example){.variable = v, .place = &place});
        is_frozen |= !v->requires_grad;
    }
    loaded->n_frozen = tc_in_a_row(loaded->n_frozen, is_frozen);
}

static void on_step(const struct tc_hearing *h, struct thawing *thawing)
{
    const struct tc_call *call = h->event->call;
    struct loaded *loaded = tc_map_find(&thawing->loaded, (uint64_t)tc_serial_of(call->self));

    if (loaded)
        on_loaded_step(h, thawing, loaded);
    for (size_t i = 0; i < call->n_params; i++) {
        const struct tc_variable *v = tc_process_variable(h->event->process, call->params[i]);
        if (v && v->requires_grad && v->data_cause == call->id && v->name != TC_SYM_EMPTY)
            *(struct trained *)tc_map_struct(&thawing->trained, v->name, sizeof(struct trained)) =
                (struct trained){v->serial, call->id, v->shape};
    }
}

static bool freezes(const struct tc_value *requires_grad)
{
    return requires_grad && requires_grad->kind == TC_VALUE_BOOL &&
           !tc_value_is_true(requires_grad);
}

static void thawed_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct thawing *thawing = tc_hearing_state(h);

    if (call->role == TC_ROLE_STEP)
        on_step(h, thawing);
    else if (call->role == TC_ROLE_FUNCTION && freezes(tc_value_get(call->args, "requires_grad")))
        thawing->froze = tc_spot_of(h->event);
    else if (call->role == TC_ROLE_LOAD && tc_value_get(tc_value_get(call->self, "attrs"), "lr"))
        *(struct loaded *)tc_map_struct(&thawing->loaded, (uint64_t)tc_serial_of(call->self),
                                        sizeof(struct loaded)) = (struct loaded){.id = call->id};
}

const struct tc_relation_rule tc_rule_thawed = {
    TC_RULE(tc_rule_thawed),
    .form.name = "Consistent/thawed",
    .form.summary = "what was trained before a resume is trained after it",
    .form.hint = "Does what thaws it also do so behind its step, or is it saved?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .source.name = "thawed",
    .source.judged = "an optimizer step after its state was loaded",
    .source.process_size = sizeof(struct thawing),
    .source.release_process = thawing_release,
    TC_CLAIM_ROLES(TC_ROLE_LOAD, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAMETER, TC_SYM_REQUIRES_GRAD, TC_SYM_KEPT),
    TC_CLAIM_ATOMS(TC_SYM_PARAMETER, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a weight that was trained until its optimizer was saved is trained after "
                      "the state is loaded",
    .claim.seen = "requires_grad of %v is False in a third step in a row since its optimizer was "
                  "resumed, and it was trained before that: it stays frozen%p",
    .at = TC_AT(LOAD) | TC_AT(STEP) | TC_AT(FUNCTION),
    .judge = thawed_judge,
};
