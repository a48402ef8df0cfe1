/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_frozen.c - APIArg/frozen: a layer that is said to take no gradient is not trained
 *
 * `layer.requires_grad = False` is no error and does nothing: parameters take gradients, and
 * `requires_grad_()` sets that for them. A module of torch has no such attribute, so the script
 * has set it.
 *
 * There is an example for each parameter with a gradient that a function inside a layer gets, at
 * its first use after an optimizer has stepped it. It is broken if the layer, or one around it,
 * has the attribute, and an optimizer has stepped the parameter since. A parameter that no
 * optimizer steps from then on is frozen anyway.
 */
#include "relation/one_claim.h"

#include <string.h>

#include "replay/symbols.h"

enum parameter {
    IS_STEPPED = 1,
    IS_TOLD = 2,           /* that it is trained and nobody says otherwise */
    IS_SAID_FROZEN = 4,    /* where it was used, */
    IS_STEPPED_FROZEN = 8, /* and it was stepped after that */
};

/* Is it a module of torch, and has somebody written on it that it takes no gradient? */
static bool says_frozen(const struct tc_call *call)
{
    const struct tc_str class = tc_value_str(tc_value_get(call->self, "object"));
    const struct tc_value *said = tc_value_get(tc_value_get(call->self, "attrs"), "requires_grad");

    return call->role == TC_ROLE_LAYER && said && said->kind == TC_VALUE_BOOL && !said->boolean &&
           class.size > strlen("torch.") && !memcmp(class.text, "torch.", strlen("torch."));
}

static bool is_said_frozen(const struct tc_call *call)
{
    while (call && !says_frozen(call))
        call = call->parent;
    return call;
}

/* Does it use a gradient of the parameter? What is used without gradients, or detached, has none.
 */
static bool has_gradient(const struct tc_process *process, int64_t serial)
{
    const struct tc_variable *v = tc_process_variable(process, serial);

    return v && v->grad != TC_SYM_GRAD_NULL && v->grad != TC_SYM_ZERO;
}

static void on_step(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct tc_map *parameters = tc_hearing_state(h);
    bool is_new;

    for (size_t i = 0; i < call->n_params; i++) {
        if (!has_gradient(h->event->process, call->params[i]))
            continue;
        uint64_t *known = tc_map_at(parameters, (uint64_t)call->params[i], &is_new);
        *known |= IS_STEPPED | (*known & IS_SAID_FROZEN ? IS_STEPPED_FROZEN : 0);
    }
}

static void meet_parameter(const struct tc_hearing *h, uint64_t *known, bool is_said_frozen)
{
    if (is_said_frozen && *known & IS_STEPPED_FROZEN)
        tc_answer(h, false);
    else if (!is_said_frozen && *known & IS_STEPPED && !(*known & IS_TOLD)) {
        tc_answer(h, true);
        *known |= IS_TOLD;
    }
    *known |= is_said_frozen ? IS_SAID_FROZEN : 0;
}

static void on_function(const struct tc_hearing *h)
{
    const bool is_frozen = is_said_frozen(h->event->call->parent);
    const struct tc_value *operand;
    bool is_new;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(h->event->call, &pos));)
        if (tc_requires_gradient(operand) &&
            tc_value_is(tc_value_get(operand, "tensor"), "Parameter"))
            meet_parameter(h,
                           tc_map_at(tc_hearing_state(h), (uint64_t)tc_serial_of(operand), &is_new),
                           is_frozen);
}

static void frozen_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;

    if (call->role == TC_ROLE_STEP)
        on_step(h);
    else if (call->parent && call->parent->role == TC_ROLE_LAYER)
        on_function(h);
}

const struct tc_relation_rule tc_rule_frozen = {
    TC_RULE(tc_rule_frozen),
    .form.name = "APIArg/frozen",
    .form.summary = "a layer that is said to take no gradient is not trained",
    .form.hint = "Is requires_grad_(False) meant, which tells the parameters?",
    .form.excused_by = 1u << TC_ROLE_FUNCTION,
    .source.name = "said_frozen",
    .source.judged = "the use of a parameter inside a layer",
    .source.process_size = sizeof(struct tc_map), /* by serial: bits of enum parameter */
    .source.release_process = tc_release_map,
    TC_CLAIM_ROLES(TC_ROLE_LAYER, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_SELF_REQUIRES_GRAD, TC_SYM_IS, TC_SYM_NONE),
    TC_CLAIM_ATOMS(TC_SYM_REQUIRES_GRAD, TC_SYM_NONE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.min_examples = 1,
    .claim.expected =
        "no layer that an optimizer trains has an attribute requires_grad that is false",
    .claim.seen =
        "requires_grad was set on a module, where it does nothing: its parameters are trained",
    .at = TC_AT(STEP) | TC_AT(FUNCTION),
    .judge = frozen_judge,
};
