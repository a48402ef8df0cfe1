/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_squared.c - APIArg/squared: what a number has scaled it does not scale again
 *
 * Margins are multiplied by beta, and what was made of them by the same beta in another line: what
 * is learned has the square of the number that was chosen.
 *
 * A tensor of several elements that takes a gradient is scaled by a number if an operator made it
 * of another one and of that number, which is neither 0, 1 and 2, nor a half. So is what becomes of
 * it while its shape changes, and of two that both are. Anything else makes it new: what a function
 * returns in its shape, and a sum with something that the number has not scaled, as a state that is
 * moved by a short time, twice.
 *
 * An example for each operator with a number and a tensor that one has scaled. It is broken from
 * the third step in a row on in which it was the same number, at another line.
 */
#include "relation/one_claim.h"
#include "relation/operand.h"
#include "relation/third_time.h"

#include <math.h>

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_KNOWN 4096

/* By what a tensor is scaled. */
struct factor {
    double number;
    tc_sym at; /* the line */
};

/* Of one process. */
struct squaring {
    struct tc_map factors; /* serial → struct factor * */
    uint64_t n;            /* steps in a row */
    bool is_again;         /* in this step */
};

static void squaring_release(void *of_process)
{
    tc_map_release_structs(&((struct squaring *)of_process)->factors);
}

static const struct factor *factor_of(const struct squaring *squaring,
                                      const struct tc_value *tensor)
{
    return tc_map_find(&squaring->factors, (uint64_t)tc_serial_of(tensor));
}

static bool is_several(const struct tc_value *tensor)
{
    return tc_is_tensor(tensor) && tc_requires_gradient(tensor) &&
           tc_count_elements(tc_value_get(tensor, "shape")) > 1;
}

static void keep_one(struct squaring *squaring, const struct tc_value *tensor, struct factor factor)
{
    if (is_several(tensor))
        *(struct factor *)tc_map_struct(&squaring->factors, (uint64_t)tc_serial_of(tensor),
                                        sizeof(factor)) = factor;
}

/* Of a tensor, or of each of a list. */
static void keep(struct squaring *squaring, const struct tc_value *value, struct factor factor)
{
    if (squaring->factors.n >= MAX_KNOWN)
        tc_map_release_structs(&squaring->factors);
    keep_one(squaring, value, factor);
    for (uint32_t i = 0; value && value->kind == TC_VALUE_ARRAY && i < value->n; i++)
        keep_one(squaring, &value->items[i], factor);
}

static bool is_chosen(double number)
{
    number = fabs(number);
    return number != 0 && number != 0.5 && number != 1 && number != 2;
}

static void on_number(const struct tc_hearing *h, struct squaring *squaring,
                      const struct tc_value *tensor, double number)
{
    const struct tc_call *call = h->event->call;
    const struct factor *before = factor_of(squaring, tensor);
    const bool is_again = before && before->number == number && before->at != tc_call_at(call);

    if (!is_several(tensor) || !is_chosen(number))
        return;
    squaring->is_again |= is_again;
    if (before && (!is_again || squaring->n + 1 >= TC_THIRD_TIME))
        tc_answer(h, !is_again);
    keep(squaring, call->end->value, (struct factor){number, tc_call_at(call)});
}

/* One tensor in another shape, or two that are scaled by the same. */
static void on_tensors(struct squaring *squaring, const struct tc_value *a,
                       const struct tc_value *b, const struct tc_value *value)
{
    const struct factor *of_a = factor_of(squaring, a), *of_b = b ? factor_of(squaring, b) : NULL;

    if (of_a &&
        (b ? of_b && of_b->number == of_a->number
           : !tc_is_tensor(value) ||
                 !tc_operand_is_same_shape(tc_value_get(a, "shape"), tc_value_get(value, "shape"))))
        keep(squaring, value, *of_a);
}

static void squared_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct squaring *squaring = tc_hearing_state(h);
    const struct tc_value *first = tc_first_tensor(call), *operand, *b = NULL;
    uint32_t pos = 0, n = tc_is_tensor(call->self);
    double number;

    if (call->role == TC_ROLE_STEP) {
        squaring->n = tc_in_a_row(squaring->n, squaring->is_again);
        squaring->is_again = false;
        tc_map_release_structs(&squaring->factors);
        return;
    }
    if (!first || !tc_requires_gradient(first))
        return;
    while ((operand = tc_call_next_tensor(call, &pos)) && ++n)
        b = operand == first ? b : operand;
    if (n == 1 && tc_value_number(tc_value_get(call->args, "other"), &number))
        on_number(h, squaring, first, number);
    else if (n <= 2)
        on_tensors(squaring, first, b, call->end->value);
}

const struct tc_relation_rule tc_rule_squared = {
    TC_RULE(tc_rule_squared),
    .form.name = "APIArg/squared",
    .form.summary = "what a number has scaled it does not scale again",
    .form.hint = "Is what is multiplied scaled by this number already?",
    .form.needs_operators = true,
    .source.name = "squared",
    .source.judged = "an operator with a number, and a tensor that a number has scaled",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct squaring),
    .source.release_process = squaring_release,
    TC_CLAIM_ROLES(TC_ROLE_OPERATOR, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_DISTINCT_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_DISTINCT, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what a number has scaled is not scaled by the same number again",
    .claim.seen = "a tensor was scaled by a number by which another line had scaled it, in a third "
                  "step in a row%p",
    .at = TC_AT(OPERATOR) | TC_AT(STEP),
    .judge = squared_judge,
};
