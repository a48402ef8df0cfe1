/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_never.c - APIArg/never: a loss is not given what that function returned
 *
 * A loss of classes makes of scores what it needs: probabilities, or their logarithms. A function
 * of one tensor that has done so before does it twice, or in vain: softmax() before
 * cross_entropy(), relu() as the last layer. A loss that fits numbers may well get the result of
 * such a function.
 *
 * A loss of classes gets integers, or a weight for one of two classes, and makes one number with
 * a gradient. Each call is an example. For each function of one tensor with a gradient that this
 * process has called so far, it says whether the first operand came straight from it. A script
 * that never calls the function teaches nothing about it.
 *
 * A loss of two distributions gets a target that a function of one tensor made: softmax(). Each
 * call with a first operand with a gradient and a target of its shape is an example. It says
 * whether the first operand came from that function as well: kl_div() needs logarithms there.
 */
#include "relation/one_claim.h"

#include "relation/operand.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* Functions of one process that are followed, and results of them that are known. */
#define MAX_FUNCTIONS 32
#define MAX_RESULTS   65536

struct givers {
    struct tc_map results; /* serial of a tensor → the function that returned it */
    tc_sym functions[MAX_FUNCTIONS];
    size_t n_functions;
};

static void givers_release(void *of_process)
{
    tc_map_release(&((struct givers *)of_process)->results);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static size_t count_tensors(const struct tc_call *call)
{
    size_t n = tc_is_tensor(call->self);

    for (uint32_t pos = 0; tc_call_next_tensor(call, &pos);)
        n++;
    return n;
}

/* Is an operand one of classes, given by their numbers? */
static bool has_classes(const struct tc_call *call)
{
    const struct tc_value *operand;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        if (tc_value_is(tc_value_get(operand, "dtype"), "int64"))
            return true;
    return false;
}

/* Or is it one of two classes, whose probabilities it makes of scores? It can weigh one of them. */
static bool takes_scores(const struct tc_call *call)
{
    return tc_value_get(call->args, "pos_weight") != NULL;
}

static bool is_loss(const struct tc_call *call, const struct tc_value *value)
{
    return tc_is_loss_value(value) && (has_classes(call) || takes_scores(call));
}

/* A function of which the loss at hand may be given the result. */
static void meet_function(struct givers *givers, tc_sym function)
{
    size_t i = 0;

    while (i < givers->n_functions && givers->functions[i] != function)
        i++;
    if (i == givers->n_functions && i < MAX_FUNCTIONS)
        givers->functions[givers->n_functions++] = function;
}

/* What drops nothing gives its operand back: it has done nothing. */
static bool drops_nothing(const struct tc_call *call)
{
    const struct tc_value *training = tc_value_get(call->args, "training");
    double p;

    return training && ((training->kind == TC_VALUE_BOOL && !training->boolean) ||
                        (tc_value_number(tc_value_get(call->args, "p"), &p) && p == 0));
}

static void note_result(struct givers *givers, const struct tc_call *call,
                        const struct tc_value *value)
{
    if (drops_nothing(call))
        return;
    if (tc_requires_gradient(value))
        meet_function(givers, call->descriptor);
    tc_map_remember(&givers->results, MAX_RESULTS, (uint64_t)tc_serial_of(value), call->descriptor);
}

/* TC_NO_SYM: no function of one tensor returned it. */
static tc_sym giver_of(const struct givers *givers, const struct tc_value *operand)
{
    uint64_t giver;

    return tc_map_get(&givers->results, (uint64_t)tc_serial_of(operand), &giver) ? (tc_sym)giver
                                                                                 : TC_NO_SYM;
}

/* Of each function: does the first operand come from it? */
static void tell_functions(const struct tc_hearing *h, const tc_sym *functions, size_t n)
{
    const struct tc_value *operand = tc_call_next_tensor(h->event->call, &(uint32_t){0});
    const tc_sym giver = giver_of(tc_hearing_state(h), operand);
    tc_sym outcome[MAX_FUNCTIONS];

    for (size_t i = 0; i < n; i++)
        outcome[i] =
            TC_ATOM(h->symbols, giver == functions[i] ? TC_SYM_TRUE : TC_SYM_FALSE, functions[i]);
    tc_sym_sort(outcome, n);
    tc_answer_set(h, outcome, n, (struct tc_example){.key = TC_SYM_EMPTY});
}

/* What made the target, if the call may be a loss of two distributions; else TC_NO_SYM. */
static tc_sym giver_of_target(const struct givers *givers, const struct tc_call *call)
{
    uint32_t pos = 0;
    const struct tc_value *operand = tc_call_next_tensor(call, &pos);
    const struct tc_value *target = tc_call_next_tensor(call, &pos);

    return tc_operand_is_same_shape(tc_value_get(operand, "shape"), tc_value_get(target, "shape"))
               ? giver_of(givers, target)
               : TC_NO_SYM;
}

static void judge_givers(const struct tc_hearing *h, const struct givers *givers)
{
    const struct tc_call *call = h->event->call;
    tc_sym function;

    if (!tc_requires_gradient(tc_call_next_tensor(call, &(uint32_t){0})))
        return;
    if (is_loss(call, call->end->value)) {
        if (givers->n_functions)
            tell_functions(h, givers->functions, givers->n_functions);
    } else if ((function = giver_of_target(givers, call)) != TC_NO_SYM) {
        tell_functions(h, &function, 1);
    }
}

static void never_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;

    if (!tc_is_tensor(call->end->value))
        return;
    if (count_tensors(call) == 1)
        note_result(tc_hearing_state(h), call, call->end->value);
    else
        judge_givers(h, tc_hearing_state(h));
}

const struct tc_relation_rule tc_rule_never = {
    TC_RULE(tc_rule_never),
    .form.name = "APIArg/never",
    .form.summary = "a loss is not given what that function returned",
    .form.hint = "Does the loss itself do what this function does?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .source.name = "givers",
    .source.judged = "the return of a loss, or of a clipping",
    .source.process_size = sizeof(struct givers),
    .source.release_process = givers_release,
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_WORDS(TC_SYM_FALSE, TC_BLANK_OTHER),
                   TC_WORDS(TC_SYM_TRUE, TC_BLANK_OTHER)),
    .claim.calls = {TC_WORDS(TC_BLANK_CALL, TC_BLANK_OTHER)},
    .claim.support = TC_SUPPORT_USAGE,
    .claim.expected = "%c is not given what %o returned",
    .claim.seen = "its first operand came straight from %o",
    .at = TC_AT(FUNCTION),
    .judge = never_judge,
};
