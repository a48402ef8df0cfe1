/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_crossed.c - APIArg/crossed: what a model says of a row is compared with that row
 *
 * Scores of [rows, 1] less targets of [rows] are a matrix: each score is compared with the targets
 * of all rows, and the model learns their mean. Nothing is said of that but by a loss that looks at
 * both shapes.
 *
 * An example for each operator with two tensors, one of which alone takes a gradient. It holds if
 * they have one shape. It is broken from the third time at one line on, if they have one shape but
 * for a dimension of one that the first has more, and the result is larger than both. A script that
 * means it makes the dimension for it: what an operator has given one since the last step says
 * nothing, nor what comes of it, nor a tensor that was there the last time, as a table of its own
 * may have as many rows.
 */
#include "relation/one_claim.h"
#include "relation/operand.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_KNOWN 8192

/* One line. */
struct line {
    int64_t plain; /* serial of the operand without a gradient, last time */
    uint64_t n;
};

/* Of one process. */
struct crossed {
    struct tc_map meant; /* serial of a tensor → 1: an operator has given it a dimension of one */
    struct tc_map lines; /* line → struct line * */
};

static void crossed_release(void *of_process)
{
    struct crossed *crossed = of_process;

    tc_map_release(&crossed->meant);
    tc_map_release_structs(&crossed->lines);
}

static bool is_meant(const struct crossed *crossed, const struct tc_value *tensor)
{
    uint64_t one;

    return tc_map_get(&crossed->meant, (uint64_t)tc_serial_of(tensor), &one);
}

/* Has the result a dimension of one that its only tensor has not? */
static bool has_new_one(const struct tc_value *from, const struct tc_value *to)
{
    for (uint32_t i = 0; (int64_t)i < tc_n_dimensions(to); i++)
        if (tc_size_of(to, i) == 1 && tc_size_of(from, i) != 1)
            return true;
    return false;
}

/* Is the shape of a that of b with a dimension of one more? */
static bool has_one_more(const struct tc_value *a, const struct tc_value *b)
{
    const int64_t n = tc_n_dimensions(b);
    uint32_t left_out = 0;

    if (n < 1 || tc_n_dimensions(a) != n + 1)
        return false;
    for (uint32_t i = 0; (int64_t)i < n; i++) {
        left_out += !left_out && tc_size_of(a, i) != tc_size_of(b, i) && tc_size_of(a, i) == 1;
        if (tc_size_of(a, i + left_out) != tc_size_of(b, i))
            return false;
    }
    return left_out || tc_size_of(a, (uint32_t)n) == 1;
}

static uint32_t elements_of(const struct tc_value *tensor)
{
    return tc_count_elements(tc_value_get(tensor, "shape"));
}

static void on_pair(const struct tc_hearing *h, struct crossed *crossed, const struct tc_value *a,
                    const struct tc_value *b)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *plain = tc_requires_gradient(a) ? b : a;
    const bool is_crossed = (has_one_more(a, b) || has_one_more(b, a)) &&
                            elements_of(call->end->value) > elements_of(a);

    if (!is_crossed) {
        if (tc_operand_is_same_shape(tc_value_get(a, "shape"), tc_value_get(b, "shape")))
            tc_answer(h, true);
        return;
    }
    struct line *line = tc_map_struct(&crossed->lines, tc_call_at(call), sizeof(*line));
    line->n += line->plain != tc_serial_of(plain);
    line->plain = tc_serial_of(plain);
    if (line->n >= TC_THIRD_TIME)
        tc_answer(h, false);
}

static void crossed_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = call->end->value, *operands[3] = {NULL};
    struct crossed *crossed = tc_hearing_state(h);
    uint32_t pos = 0, n = 0;

    if (call->role == TC_ROLE_STEP) {
        tc_map_clear(&crossed->meant);
        return;
    }
    if (tc_is_tensor(call->self))
        operands[n++] = call->self;
    while (n < 3 && (operands[n] = tc_call_next_tensor(call, &pos)))
        n++;
    if (!n || !tc_is_tensor(value))
        return;
    if (is_meant(crossed, operands[0]) || (n > 1 && is_meant(crossed, operands[1])) ||
        (n == 1 && has_new_one(operands[0], value)))
        tc_map_remember(&crossed->meant, MAX_KNOWN, (uint64_t)tc_serial_of(value), 1);
    else if (n == 2 && tc_requires_gradient(operands[0]) != tc_requires_gradient(operands[1]))
        on_pair(h, crossed, operands[0], operands[1]);
}

const struct tc_relation_rule tc_rule_crossed = {
    TC_RULE(tc_rule_crossed),
    .form.name = "APIArg/crossed",
    .form.summary = "what a model says of a row is compared with that row",
    .form.hint = "Does squeeze(), or view_as(), give both the same shape?",
    .form.needs_operators = true,
    .source.name = "crossed",
    .source.judged = "an operator with two tensors, one of which alone takes a gradient",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct crossed),
    .source.release_process = crossed_release,
    TC_CLAIM_ROLES(TC_ROLE_OPERATOR, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_INPUT, TC_SYM_IS, TC_SYM_EXACT),
    TC_CLAIM_ATOMS(TC_SYM_F_INPUT, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "values of a model are not spread over rows that are not theirs",
    .claim.seen = "one operand has a dimension of one more, so that each of its elements met those "
                  "of all rows by broadcast, for the third time or more%p",
    .at = TC_AT(OPERATOR) | TC_AT(STEP),
    .judge = crossed_judge,
};
