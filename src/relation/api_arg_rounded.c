/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_rounded.c - APIArg/rounded: a factor is another number than one in the dtype that it
 * multiplies
 *
 * Weights, or their average, are kept in half precision and multiplied by a number near one: decay,
 * or the share that an average keeps. bfloat16 resolves one part in 256, float16 one in 2,048.
 * A factor nearer to one than half of that rounds to one: each product is what it was.
 *
 * An example for each call of a line that multiplies a tensor of half precision, in place, by a
 * number that is not one and differs from it by less than a tenth. It is broken from the third on
 * at its line that rounds to one.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include <math.h>

#include "replay/symbols.h"

#define MIN_ELEMENTS 16
#define NEAR         0.1

/* What is lost beside one: half of the distance to the next number below it, which is the finer
 * side. 0: it resolves more than anybody asks. */
static double lost_by(const struct tc_value *dtype)
{
    return tc_is_of_dtype(dtype, "bfloat16")  ? 0x1p-9
           : tc_is_of_dtype(dtype, "float16") ? 0x1p-12
                                              : 0;
}

/* What a line multiplies its tensor by, in place; what is added to it has an `alpha`. */
static bool has_factor(const struct tc_call *call, double *factor)
{
    return tc_value_number(tc_value_get(call->args, "other"), factor) && *factor != 1 &&
           fabs(1 - *factor) <= NEAR && !tc_value_get(call->args, "alpha") &&
           tc_serial_of(call->end->value) == tc_serial_of(call->self);
}

static void rounded_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct tc_map *lines = tc_hearing_state(h);
    double factor, lost;
    bool is_new;

    if (!has_factor(call, &factor) || !(lost = lost_by(tc_value_get(call->self, "dtype"))) ||
        tc_count_elements(tc_value_get(call->self, "shape")) < MIN_ELEMENTS)
        return;
    const bool is_lost = fabs(1 - factor) < lost;
    uint64_t *n = tc_map_at(lines, tc_call_at(call), &is_new);
    *n = is_new ? is_lost : *n + is_lost;
    if (!is_lost || *n >= TC_THIRD_TIME)
        tc_answer(h, !is_lost);
}

const struct tc_relation_rule tc_rule_rounded = {
    TC_RULE(tc_rule_rounded),
    .form.name = "APIArg/rounded",
    .form.summary = "a factor is another number than one in the dtype that it multiplies",
    .form.hint = "Should the weights, or their average, be kept in float32?",
    .form.needs_operators = true,
    .source.name = "rounded",
    .source.judged = "the product of a tensor in half precision with a number near one",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct tc_map),
    .source.release_process = tc_release_map,
    TC_CLAIM_ROLES(TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_ROUNDED),
    TC_CLAIM_ATOMS(TC_SYM_SELF, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a factor near one is not rounded to one by the dtype that it multiplies",
    .claim.seen = "the tensor is in half precision, which takes the factor for one: nothing was "
                  "multiplied%p",
    .at = TC_AT(OPERATOR),
    .judge = rounded_judge,
};
