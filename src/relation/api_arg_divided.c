/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_divided.c - APIArg/divided: a loss is divided by the number of its micro-batches once
 *
 * In a step of several backwards each loss is divided by their number, so that the sum is a mean.
 * A training library does that by itself if it knows the number. A script that divides as well
 * learns too slowly by that factor, and the loss that it logs looks right.
 *
 * The form goes by values. A number of one element that the script makes of another by a whole
 * factor was divided by that. So were the loss that the backward of a library gets, and the
 * number that its own backward begins with. There is an example for each step of two backwards or
 * more whose losses were all divided by their number. It is broken from the third on that all
 * were divided by it twice.
 *
 * So it is where losses are weighed by their shares of the labels: by factors that differ, and add
 * up to one. Where they add up to one by the number of losses, each was divided by that as well.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include <math.h>
#include <string.h>

#include "replay/symbols.h"

#define MAX_NUMBERS  4096
#define MAX_DIVISORS 2
#define MAX_VALUES   6
#define PRECISION    1e-4

/* What a number of one element was divided by, so far, and what it was before each line. */
struct number {
    int64_t divisors[MAX_DIVISORS];
    size_t n;
    double values[MAX_VALUES];
    size_t n_values;
};

/* Of one process. */
struct losses {
    struct tc_map numbers; /* serial → struct number * */
    struct number of[32];  /* the backwards since the last step, each with its loss */
    double losses[32];
    size_t n_backwards;
    uint64_t n_twice;
};

static void losses_release(void *of_process)
{
    tc_map_release_structs(&((struct losses *)of_process)->numbers);
}

/* The whole factor from one to the other; 0 for none. */
static int64_t factor_of(const struct tc_value *from, const struct tc_value *to)
{
    double a, b;

    if (!tc_value_number(tc_value_get(from, "value"), &a) ||
        !tc_value_number(tc_value_get(to, "value"), &b) || b == 0)
        return 0;
    const double factor = a / b, whole = round(factor);
    return whole >= 2 && whole < 1 << 20 && fabs(factor - whole) <= PRECISION * whole
               ? (int64_t)whole
               : 0;
}

static struct number number_in_tensor(const struct losses *losses, const struct tc_value *tensor)
{
    const struct number *known = tc_map_find(&losses->numbers, (uint64_t)tc_serial_of(tensor));

    return known ? *known : (struct number){.n = 0};
}

static struct number divided(struct number number, int64_t by)
{
    if (by && number.n < MAX_DIVISORS)
        number.divisors[number.n++] = by;
    return number;
}

/* The latest are kept, and stand first. */
static void note_value(struct number *number, const struct tc_value *tensor)
{
    double value;

    if (!tc_value_number(tc_value_get(tensor, "value"), &value))
        return;
    memmove(number->values + 1, number->values, (MAX_VALUES - 1) * sizeof(value));
    number->values[0] = value;
    if (number->n_values < MAX_VALUES)
        number->n_values++;
}

/* A line that makes one number of another, or a scaler that multiplies it. */
static void on_number(struct losses *losses, const struct tc_call *call)
{
    const struct tc_value *value = call->end->value, *operand = tc_first_tensor(call);

    if (!tc_requires_gradient(operand) || !tc_requires_gradient(value) ||
        !tc_value_get(value, "value"))
        return;
    struct number number = divided(number_in_tensor(losses, operand),
                                   call->role == TC_ROLE_OPERATOR ? factor_of(operand, value) : 0);
    note_value(&number, operand);
    if (!number.n_values)
        return;
    if (losses->numbers.n >= MAX_NUMBERS)
        tc_map_release_structs(&losses->numbers);
    *(struct number *)tc_map_struct(&losses->numbers, (uint64_t)tc_serial_of(value),
                                    sizeof(number)) = number;
}

/* What the library around the backward was handed; NULL: none is. */
static const struct tc_value *handed_to_library(const struct tc_call *backward)
{
    const struct tc_call *around = backward->parent;

    while (around && around->role != TC_ROLE_LIBRARY)
        around = around->parent;
    return around ? tc_call_next_tensor(around, &(uint32_t){0}) : NULL;
}

static void on_backward(struct losses *losses, const struct tc_call *call)
{
    const struct tc_value *handed = handed_to_library(call);
    const struct number number =
        handed ? divided(number_in_tensor(losses, handed), factor_of(handed, call->self))
               : number_in_tensor(losses, call->self);

    if (losses->n_backwards < sizeof(losses->of) / sizeof(*losses->of)) {
        losses->of[losses->n_backwards] = number;
        losses->losses[losses->n_backwards] = 0;
        tc_value_number(tc_value_get(call->self, "value"), &losses->losses[losses->n_backwards]);
    }
    losses->n_backwards++;
}

/* How often all losses of the step were divided by their number. */
static size_t count_divided(const struct losses *losses)
{
    size_t least = MAX_DIVISORS;

    for (size_t i = 0; i < losses->n_backwards; i++) {
        size_t n = 0;
        for (size_t j = 0; j < losses->of[i].n; j++)
            n += losses->of[i].divisors[j] == (int64_t)losses->n_backwards;
        least = n < least ? n : least;
    }
    return least;
}

/* What the losses were multiplied by in the last lines, i and one, adds up to this, if it differs;
 * else 0. */
static double sum_of_shares(const struct losses *losses, size_t i)
{
    double sum = 0, least = INFINITY, most = 0;

    for (size_t k = 0; k < losses->n_backwards; k++) {
        const double share =
            losses->of[k].n_values > i ? losses->losses[k] / losses->of[k].values[i] : 0;
        sum += share;
        least = fmin(least, share);
        most = fmax(most, share);
    }
    return isfinite(sum) && least > 0 && most > 1.01 * least ? sum : 0;
}

/* How often a step was divided by its number, by shares: as count_divided(). */
static size_t count_by_shares(const struct losses *losses)
{
    const double n = (double)losses->n_backwards;
    size_t found = 0;

    for (size_t i = 0; i < MAX_VALUES; i++) {
        const double sum = sum_of_shares(losses, i);
        if (fabs(sum - 1) <= PRECISION)
            return 1;
        if (fabs(sum * n - 1) <= PRECISION)
            found = 2;
    }
    return found;
}

static void divided_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct losses *losses = tc_hearing_state(h);

    if (call->role == TC_ROLE_BACKWARD)
        on_backward(losses, call);
    else if (call->role != TC_ROLE_STEP)
        on_number(losses, call);
    else {
        const bool is_told = losses->n_backwards >= 2 &&
                             losses->n_backwards <= sizeof(losses->of) / sizeof(*losses->of);
        size_t n = is_told ? count_divided(losses) : 0,
               n_shares = is_told ? count_by_shares(losses) : 0;
        n = n_shares > n ? n_shares : n;
        losses->n_twice += n > 1;
        losses->n_backwards = 0;
        if (n == 1 || (n > 1 && losses->n_twice >= TC_THIRD_TIME))
            tc_answer(h, n == 1);
    }
}

const struct tc_relation_rule tc_rule_divided = {
    TC_RULE(tc_rule_divided),
    .form.name = "APIArg/divided",
    .form.summary = "a loss is divided by the number of its micro-batches once",
    .form.hint = "Does the library divide the loss by itself, as it knows the accumulation?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "divided",
    .source.judged = "an optimizer step of several backwards",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct losses),
    .source.release_process = losses_release,
    TC_CLAIM_ROLES(TC_ROLE_BACKWARD, TC_ROLE_STEP, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_SCALED),
    TC_CLAIM_ATOMS(TC_SYM_SCALED, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "the losses of a step of several backwards are divided by their number once",
    .claim.seen = "each loss of the step was divided twice by how many there are, or once, and "
                  "weighed by its share as well, for the third time or more",
    .at = TC_AT(BACKWARD) | TC_AT(STEP) | TC_AT(OPERATOR) | TC_AT(SCALER),
    .judge = divided_judge,
};
