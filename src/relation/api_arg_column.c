/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_column.c - APIArg/column: what a model returns as a column meets no vector
 *
 * A model that gives one number for each sample returns a column, [n,1]. An operator of a column
 * and a vector of n numbers gives n times n numbers: each sample is compared with all. A loss of
 * torch warns of that; operators of the script do not.
 *
 * There is an example for each operator of the script on what a root forward returned, or a
 * function made of that, with a gradient, and one tensor without: `equal` if both have one shape.
 * It differs if a column meets a vector of as many numbers, for the third time, in a process in
 * which none met a vector of another length. With another length it would be a grid, in which all
 * pairs are wanted, and so it is if the script itself made the column.
 */
#include "relation/one_claim.h"

#include "relation/operand.h"
#include "relation/third_time.h"
#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_RESULTS 16384

enum made {
    MADE_BY_MODEL = 1, /* as it returned it */
    MADE_ANEW,         /* in another shape: a column of it is the script's */
};

/* Of one process. */
struct columns {
    struct tc_map made; /* serials of what a root forward returned with a gradient → how */
    unsigned n_pairs;   /* of a column and a vector of one length */
    bool has_grid;      /* of other lengths */
};

static void columns_release(void *of_process)
{
    tc_map_release(&((struct columns *)of_process)->made);
}

/* Of a result, or of lists and objects in it. */
static void note_results(struct columns *columns, const struct tc_value *v, unsigned depth,
                         enum made made)
{
    if (!v || !depth)
        return;
    if (columns->made.n >= MAX_RESULTS)
        tc_map_clear(&columns->made);
    if (tc_is_tensor(v) && tc_requires_gradient(v))
        tc_map_put(&columns->made, (uint64_t)tc_serial_of(v), made);
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        note_results(columns, &v->items[i], depth - 1, made);
    for (uint32_t i = 0; v->kind == TC_VALUE_OBJECT && i < v->n; i++)
        note_results(columns, &v->members[i].value, depth - 1, made);
}

static bool is_column(const struct tc_value *tensor)
{
    return tc_size_of(tensor, 0) > 1 && tc_size_of(tensor, 1) == 1 && tc_size_of(tensor, 2) < 0;
}

static bool is_vector(const struct tc_value *tensor)
{
    return tc_size_of(tensor, 0) > 1 && tc_size_of(tensor, 1) < 0;
}

/* Has the result a number for each pair of theirs? A mask that picks rows of a column has none. */
static bool is_of_all_pairs(const struct tc_value *value, const struct tc_value *column,
                            const struct tc_value *vector)
{
    return tc_size_of(value, 0) == tc_size_of(column, 0) &&
           tc_size_of(value, 1) == tc_size_of(vector, 0);
}

/* TC_NO_SYM: there is nothing to tell. */
static tc_sym outcome_of(struct columns *columns, const struct tc_value *x,
                         const struct tc_value *other, const struct tc_value *value)
{
    uint64_t made;

    if (!tc_requires_gradient(x) || tc_requires_gradient(other) ||
        !tc_map_get(&columns->made, (uint64_t)tc_serial_of(x), &made))
        return TC_NO_SYM;
    if (made == MADE_BY_MODEL && is_column(x) && is_vector(other)) {
        if (!is_of_all_pairs(value, x, other))
            return TC_NO_SYM;
        if (tc_size_of(x, 0) != tc_size_of(other, 0))
            columns->has_grid = true;
        else
            columns->n_pairs++;
        return columns->n_pairs >= TC_THIRD_TIME && !columns->has_grid ? TC_SYM_DIFFERS : TC_NO_SYM;
    }
    return tc_operand_is_same_shape(tc_value_get(x, "shape"), tc_value_get(other, "shape"))
               ? TC_SYM_EQUAL
               : TC_NO_SYM;
}

static void on_pair(const struct tc_hearing *h, const struct tc_value *a, const struct tc_value *b)
{
    const struct tc_value *value = h->event->call->end->value;
    tc_sym outcome = outcome_of(tc_hearing_state(h), a, b, value);

    if (outcome == TC_NO_SYM)
        outcome = outcome_of(tc_hearing_state(h), b, a, value);
    if (outcome != TC_NO_SYM)
        tc_answer(h, outcome == TC_SYM_EQUAL);
}

/* What a function of one tensor makes of it is the model's still: a sigmoid. */
static void follow_operand(struct columns *columns, const struct tc_value *operand,
                           const struct tc_value *value)
{
    const struct tc_value *shape = tc_value_get(operand, "shape"),
                          *other = tc_value_get(value, "shape");
    uint64_t made;

    if (!tc_map_get(&columns->made, (uint64_t)tc_serial_of(operand), &made) ||
        tc_count_elements(shape) != tc_count_elements(other))
        return;
    note_results(columns, value, 1,
                 tc_operand_is_same_shape(shape, other) ? (enum made)made : MADE_ANEW);
}

static void column_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = call->end->value, *operands[2], *v;
    uint32_t pos = 0;
    size_t n = 0;

    if (call->is_root) {
        note_results(tc_hearing_state(h), value, 3, MADE_BY_MODEL);
        return;
    }
    if (tc_is_tensor(call->self))
        operands[n++] = call->self;
    while (n < 2 && (v = tc_call_next_tensor(call, &pos)))
        operands[n++] = v;
    if (!tc_requires_gradient(value))
        return;
    if (n == 2 && call->role == TC_ROLE_OPERATOR)
        on_pair(h, operands[0], operands[1]);
    else if (n == 1)
        follow_operand(tc_hearing_state(h), operands[0], value);
}

const struct tc_relation_rule tc_rule_column = {
    TC_RULE(tc_rule_column),
    .form.name = "APIArg/column",
    .form.summary = "what a model returns as a column is not combined with a vector",
    .form.hint = "Which of the two has a dimension too many, or too few (squeeze, view)?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.excused_by = 1u << TC_ROLE_FUNCTION | 1u << TC_ROLE_OPERATOR,
    .form.needs_operators = true,
    .source.name = "columns",
    .source.judged = "an operator of what a root forward returned",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct columns),
    .source.release_process = columns_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_COLUMN, TC_SYM_IS, TC_SYM_EQUAL_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_COLUMN, TC_SYM_EQUAL, TC_SYM_DIFFERS),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected =
        "a column that a model returns is not combined with a vector of as many numbers",
    .claim.seen =
        "a column met a vector: each number of the one was combined with all of the other",
    .at = TC_AT_ROOT | TC_AT(OPERATOR) | TC_AT(FUNCTION),
    .judge = column_judge,
};
