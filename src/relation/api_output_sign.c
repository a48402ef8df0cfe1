/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_sign.c - APIOutput/sign: a loss is not below zero
 *
 * Most losses measure a distance, or are the logarithm of a probability with its sign turned:
 * nothing that they are made for gives less than zero. Given something else they do: scores where
 * logarithms of probabilities are meant, a target that is no probability.
 *
 * An example for each call that has a `reduction` and returns one number with a gradient. It is
 * broken from the third below zero on, as what rounding leaves may be less than nothing by a
 * little. Densities have logarithms of either sign: their losses are met with both. So has a
 * divergence (`log_target`) of a part of the classes, and of what was drawn: there is no example.
 */
#include "relation/claims.h"

#include "base/map.h"
#include "replay/symbols.h"

#define MIN_NEGATIVE 3
#define ROUNDING     (-1e-4)

/* Of one process: by function, how often its result was below zero. */
static void counts_release(void *of_process)
{
    tc_map_release(of_process);
}

static bool is_loss(const struct tc_call *call)
{
    const struct tc_value *value = call->end->value, *shape = tc_value_get(value, "shape");

    return call->role == TC_ROLE_FUNCTION && tc_value_get(call->args, "reduction") &&
           !tc_value_get(call->args, "log_target") && shape && shape->kind == TC_VALUE_ARRAY &&
           !shape->n && tc_requires_gradient(value);
}

static void sign_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    const struct tc_situation none = {.n = 0};

    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || event->call->raised ||
        !is_loss(event->call))
        return;
    const struct tc_value *number = tc_value_get(event->call->end->value, "value");
    if (!number || number->kind != TC_VALUE_FLOAT)
        return;
    const bool is_negative = number->number < ROUNDING;
    bool is_new;
    uint64_t *n =
        tc_map_at(tc_process_state(state, event->process), event->call->descriptor, &is_new);
    if (is_negative && ++*n < MIN_NEGATIVE)
        return;
    const tc_sym outcome = is_negative ? TC_SYM_NEGATIVE : TC_SYM_NOT_NEGATIVE;
    const struct tc_example example = {
        .key = event->call->descriptor, .situation = &none, .outcome = &outcome, .n_outcome = 1};
    sink->example(sink->context, event, &example);
}

const struct tc_source tc_source_sign = {.name = "sign",
                                         .judged = "the return of a loss",
                                         .is_set = true,
                                         .process_size = sizeof(struct tc_map),
                                         .release_process = counts_release,
                                         .observe = sign_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_BLANK_CALL},
     .calls = {TC_BLANK_CALL},
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_VALUE,
     .attr = TC_SYM_IS,
     .to = TC_SYM_NOT_NEGATIVE,
     .held = {TC_SYM_NOT_NEGATIVE},
     .broken = {TC_SYM_NEGATIVE},
     .if_met = true,
     .support = TC_SUPPORT_USAGE,
     .expected = "what %c returns is not below zero",
     .seen =
            "a loss below zero, for the third time or more: it was not given what it is made for", },
};

const struct tc_relation tc_api_output_sign = {
    .name = "APIOutput/sign",
    .summary = "a loss is not below zero",
    .hint = "Is the loss given logarithms of probabilities, or probabilities, where it asks for "
            "them?",
    .needs_content = true,
    .source = &tc_source_sign,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
