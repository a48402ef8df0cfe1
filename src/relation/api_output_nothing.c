/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_nothing.c - APIOutput/nothing: a clipping has something to clip
 *
 * A norm of zero says that what is clipped has no gradient. So it is after zero_grad(), and of the
 * weights of a model whose gradients an engine has taken away, as DeepSpeed's ZeRO does. So it is,
 * too, where an iterator over the parameters is used up by the first step, or by a line before.
 * Then each step is as large as its gradients are, whatever the limit.
 *
 * An example for each window with a step of something that has a gradient, and with a clipping
 * that tells the norm. It holds where one of these norms is above zero. It is broken from the tenth
 * in a row on in which none is, if none has been before and one of the weights requires a
 * gradient, as what is frozen may wait to be thawed; and from the third on to which an iterator is
 * given that was given before.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_GIVEN 4096

/* Of one process. */
struct clipping {
    struct tc_map given;    /* iterators */
    bool has_norm, is_open; /* in this window; of something that requires a gradient */
    bool is_used_up;        /* one was given again */
    double norm;            /* the largest */
    struct tc_spot spot;
    uint64_t n_nothing, n_used_up; /* windows in a row */
    bool has_met;                  /* a norm above zero */
};

static void clipping_release(void *of_process)
{
    tc_map_release(&((struct clipping *)of_process)->given);
}

/* What is clipped stands in the call itself, or in a part of it. */
static const struct tc_value *parameters_of(const struct tc_call *call)
{
    const bool is_clip =
        call->role == TC_ROLE_CLIP || (call->parent && call->parent->role == TC_ROLE_CLIP);

    return is_clip ? tc_value_get(call->args, "parameters") : NULL;
}

static bool requires_any(const struct tc_value *parameters)
{
    for (uint32_t i = 0; parameters && parameters->kind == TC_VALUE_ARRAY && i < parameters->n; i++)
        if (tc_requires_gradient(&parameters->items[i]))
            return true;
    return false;
}

static void on_clip(const struct tc_hearing *h, struct clipping *clipping)
{
    const struct tc_value *parameters = parameters_of(h->event->call);
    const uint64_t iterator = (uint64_t)tc_serial_of(parameters);
    double norm;

    if (!tc_plain_number(h->event->call->end->value, &norm))
        return;
    if (!clipping->has_norm || norm > clipping->norm)
        clipping->norm = norm;
    clipping->has_norm = true;
    clipping->spot = tc_spot_of(h->event);
    if (!tc_value_get(parameters, "object"))
        return;
    clipping->is_used_up |= tc_map_get(&clipping->given, iterator, &(uint64_t){0});
    tc_map_remember(&clipping->given, MAX_GIVEN, iterator, 1);
}

static void judge_window(const struct tc_hearing *h, struct clipping *clipping)
{
    const bool is_met = clipping->norm != 0;
    struct tc_place place;

    clipping->has_met |= is_met;
    clipping->n_nothing = tc_in_a_row(clipping->n_nothing, !is_met && clipping->is_open);
    clipping->n_used_up = tc_in_a_row(clipping->n_used_up, !is_met && clipping->is_used_up);
    tc_place_of(h->event, &place);
    tc_place_move(&place, &clipping->spot);
    if (is_met || clipping->n_used_up >= TC_THIRD_TIME ||
        (clipping->n_nothing >= TC_TENTH_TIME && !clipping->has_met))
        tc_answer_of(h, is_met, (struct tc_example){.place = &place});
}

static void nothing_judge(const struct tc_hearing *h)
{
    struct clipping *clipping = tc_hearing_state(h);

    if (h->event->kind != TC_EVENT_WINDOW) {
        clipping->is_open |= requires_any(parameters_of(h->event->call));
        if (h->event->call->role == TC_ROLE_CLIP)
            on_clip(h, clipping);
        return;
    }
    if (clipping->has_norm && h->event->window->grads != TC_SYM_NONE)
        judge_window(h, clipping);
    clipping->has_norm = clipping->is_open = clipping->is_used_up = false;
}

const struct tc_relation_rule tc_rule_nothing = {
    TC_RULE(tc_rule_nothing),
    .form.name = "APIOutput/nothing",
    .form.summary = "a clipping has something to clip",
    .form.hint = "Does it stand between the backward and zero_grad(), and is it given a list, or a "
                 "new iterator each time? An engine that shards gradients clips them itself.",
    .form.needs_content = true,
    .source.name = "nothing",
    .source.judged = "the end of a step window with a clipping",
    .source.process_size = sizeof(struct clipping),
    .source.release_process = clipping_release,
    TC_CLAIM_ROLES(TC_ROLE_CLIP, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_NOT_ZERO),
    TC_CLAIM_ATOMS(TC_SYM_VALUE, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what is clipped before an optimizer step has a gradient",
    .claim.seen = "no clipping of the step met a gradient, nor in the steps before: the norm was "
                  "zero%p",
    .at = TC_AT(CLIP) | TC_AT(FUNCTION) | TC_AT_WINDOW,
    .judge = nothing_judge,
};
