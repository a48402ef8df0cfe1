/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_frozen.c - APIArg/frozen: a layer that is said to take no gradient is not trained
 *
 * `layer.requires_grad = False` is no error and does nothing: what takes gradients are parameters,
 * and `requires_grad_()` is what tells them. A module of torch has no such attribute of its own, so
 * that the script has set it.
 *
 * An example for each parameter that a function inside a layer is given, with a gradient: at its
 * first use after an optimizer has stepped it. It is broken where the layer, or one around it, has
 * the attribute, and an optimizer has stepped the parameter since. One that no optimizer steps from
 * then on is frozen all the same.
 */
#include "relation/claims.h"

#include <string.h>

#include "replay/symbols.h"

enum parameter {
    IS_STEPPED = 1,
    IS_TOLD = 2,           /* that it is trained and nobody says otherwise */
    IS_SAID_FROZEN = 4,    /* where it was used, */
    IS_STEPPED_FROZEN = 8, /* and it was stepped after that */
};

/* By serial: bits of enum parameter. */
static void parameters_release(void *of_process)
{
    tc_map_release(of_process);
}

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

static void on_step(struct tc_map *parameters, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    bool is_new;

    for (size_t i = 0; i < call->n_params; i++) {
        if (!has_gradient(event->process, call->params[i]))
            continue;
        uint64_t *known = tc_map_at(parameters, (uint64_t)call->params[i], &is_new);
        *known |= IS_STEPPED | (*known & IS_SAID_FROZEN ? IS_STEPPED_FROZEN : 0);
    }
}

/* TC_NO_SYM: there is nothing to tell, or no more. */
static tc_sym meet(uint64_t *known, bool is_said_frozen)
{
    tc_sym outcome = TC_NO_SYM;

    if (is_said_frozen && *known & IS_STEPPED_FROZEN)
        outcome = TC_SYM_FALSE;
    else if (!is_said_frozen && *known & IS_STEPPED && !(*known & IS_TOLD))
        outcome = TC_SYM_NONE;
    *known |= outcome == TC_SYM_NONE ? IS_TOLD : 0;
    *known |= is_said_frozen ? IS_SAID_FROZEN : 0;
    return outcome;
}

static void on_function(struct tc_map *parameters, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    const struct tc_situation none = {.n = 0};
    const bool is_frozen = is_said_frozen(event->call->parent);
    const struct tc_value *operand;
    bool is_new;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(event->call, &pos));) {
        if (!tc_requires_gradient(operand) ||
            !tc_value_is(tc_value_get(operand, "tensor"), "Parameter"))
            continue;
        const int64_t serial = tc_value_int(tc_value_get(operand, "id"), TC_NONE);
        const tc_sym outcome = meet(tc_map_at(parameters, (uint64_t)serial, &is_new), is_frozen);
        const struct tc_example example = {
            .key = TC_SYM_REQUIRES_GRAD, .situation = &none, .outcome = &outcome, .n_outcome = 1};
        if (outcome != TC_NO_SYM)
            sink->example(sink->context, event, &example);
    }
}

static void frozen_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || call->raised)
        return;
    if (call->role == TC_ROLE_STEP)
        on_step(tc_process_state(state, event->process), event);
    else if (call->role == TC_ROLE_FUNCTION && call->parent && call->parent->role == TC_ROLE_LAYER)
        on_function(tc_process_state(state, event->process), event, sink);
}

const struct tc_source tc_source_said_frozen = {
    .name = "said_frozen",
    .judged = "the use of a parameter inside a layer",
    .is_set = true,
    .process_size = sizeof(struct tc_map),
    .release_process = parameters_release,
    .observe = frozen_observe,
};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_REQUIRES_GRAD},
     .roles = {TC_ROLE_LAYER, TC_ROLE_STEP},
     .n_roles = 2,
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_F_SELF_REQUIRES_GRAD,
     .attr = TC_SYM_IS,
     .to = TC_SYM_NONE,
     .held = {TC_SYM_NONE},
     .broken = {TC_SYM_FALSE},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .min_examples = 1,
     .expected =
            "no layer that an optimizer trains has an attribute requires_grad that is false", .seen =
            "requires_grad was set on a module, where it does nothing: its parameters are trained", },
};

const struct tc_relation tc_api_arg_frozen = {
    .name = "APIArg/frozen",
    .summary = "a layer that is said to take no gradient is not trained",
    .hint = "Is requires_grad_(False) meant, which tells the parameters?",
    .excused_by = 1u << TC_ROLE_FUNCTION,
    .source = &tc_source_said_frozen,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
