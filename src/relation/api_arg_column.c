/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_column.c - APIArg/column: what a model returns as a column meets no vector
 *
 * A model that gives one number for each sample returns a column, [n,1]. An operator of it and a
 * vector of n numbers gives n times n: each sample is compared with all. A loss of torch warns of
 * that; what a script computes itself does not.
 *
 * An example for each operator that the script has of what a root forward returned, or a function
 * made of that, with a gradient, and one tensor without: `equal` where both have one shape. It
 * differs where a column meets a vector of as many numbers, for the third time, in a process in
 * which none met one of another length: that would be a grid, and all pairs are wanted. So they are
 * where the script itself made a column of it.
 */
#include "relation/claims.h"

#include "relation/operand.h"
#include "replay/symbols.h"

#define MIN_PAIRS   3
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

static uint64_t serial_of(const struct tc_value *tensor)
{
    return (uint64_t)tc_value_int(tc_value_get(tensor, "id"), TC_NONE);
}

/* Of a result, or of lists and objects in it. */
static void note_results(struct columns *columns, const struct tc_value *v, unsigned depth,
                         enum made made)
{
    if (!v || !depth)
        return;
    if (columns->made.n >= MAX_RESULTS)
        tc_map_clear(&columns->made);
    if (tc_value_get(v, "tensor") && tc_requires_gradient(v))
        tc_map_put(&columns->made, serial_of(v), made);
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        note_results(columns, &v->items[i], depth - 1, made);
    for (uint32_t i = 0; v->kind == TC_VALUE_OBJECT && i < v->n; i++)
        note_results(columns, &v->members[i].value, depth - 1, made);
}

/* -1 past the last dimension. */
static int64_t size_of(const struct tc_value *tensor, uint32_t i)
{
    const struct tc_value *shape = tc_value_get(tensor, "shape");

    return shape && shape->kind == TC_VALUE_ARRAY && i < shape->n
               ? tc_value_int(&shape->items[i], -1)
               : -1;
}

static bool is_column(const struct tc_value *tensor)
{
    return size_of(tensor, 0) > 1 && size_of(tensor, 1) == 1 && size_of(tensor, 2) < 0;
}

static bool is_vector(const struct tc_value *tensor)
{
    return size_of(tensor, 0) > 1 && size_of(tensor, 1) < 0;
}

/* Has the result a number for each pair of theirs? A mask that picks rows of a column has none. */
static bool is_of_all_pairs(const struct tc_value *value, const struct tc_value *column,
                            const struct tc_value *vector)
{
    return size_of(value, 0) == size_of(column, 0) && size_of(value, 1) == size_of(vector, 0);
}

/* TC_NO_SYM: there is nothing to tell. */
static tc_sym outcome_of(struct columns *columns, const struct tc_value *x,
                         const struct tc_value *other, const struct tc_value *value)
{
    uint64_t made;

    if (!tc_requires_gradient(x) || tc_requires_gradient(other) ||
        !tc_map_get(&columns->made, serial_of(x), &made))
        return TC_NO_SYM;
    if (made == MADE_BY_MODEL && is_column(x) && is_vector(other)) {
        if (!is_of_all_pairs(value, x, other))
            return TC_NO_SYM;
        if (size_of(x, 0) != size_of(other, 0))
            columns->has_grid = true;
        else
            columns->n_pairs++;
        return columns->n_pairs >= MIN_PAIRS && !columns->has_grid ? TC_SYM_DIFFERS : TC_NO_SYM;
    }
    return tc_operand_is_same_shape(tc_value_get(x, "shape"), tc_value_get(other, "shape"))
               ? TC_SYM_EQUAL
               : TC_NO_SYM;
}

static void on_pair(struct columns *columns, const struct tc_event *event, const struct tc_value *a,
                    const struct tc_value *b, const struct tc_sink *sink)
{
    const struct tc_situation none = {.n = 0};
    const struct tc_value *value = event->call->end->value;
    tc_sym outcome = outcome_of(columns, a, b, value);

    if (outcome == TC_NO_SYM)
        outcome = outcome_of(columns, b, a, value);
    const struct tc_example example = {
        .key = TC_SYM_COLUMN, .situation = &none, .outcome = &outcome, .n_outcome = 1};
    if (outcome != TC_NO_SYM)
        sink->example(sink->context, event, &example);
}

/* What a function of one tensor makes of it is the model's still: a sigmoid. */
static void follow(struct columns *columns, const struct tc_value *operand,
                   const struct tc_value *value)
{
    const struct tc_value *shape = tc_value_get(operand, "shape"),
                          *other = tc_value_get(value, "shape");
    uint64_t made;

    if (!tc_map_get(&columns->made, serial_of(operand), &made) ||
        tc_count_elements(shape) != tc_count_elements(other))
        return;
    note_results(columns, value, 1,
                 tc_operand_is_same_shape(shape, other) ? (enum made)made : MADE_ANEW);
}

static void on_call(struct columns *columns, const struct tc_event *event,
                    const struct tc_sink *sink)
{
    const struct tc_value *value = event->call->end->value, *operands[2], *v;
    uint32_t pos = 0;
    size_t n = 0;

    if (tc_value_get(event->call->self, "tensor"))
        operands[n++] = event->call->self;
    while (n < 2 && (v = tc_call_next_tensor(event->call, &pos)))
        operands[n++] = v;
    if (!tc_requires_gradient(value))
        return;
    if (n == 2 && event->call->role == TC_ROLE_OPERATOR)
        on_pair(columns, event, operands[0], operands[1], sink);
    else if (n == 1)
        follow(columns, operands[0], value);
}

static void columns_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                            const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || call->raised)
        return;
    if (call->is_root)
        note_results(tc_process_state(state, event->process), call->end->value, 3, MADE_BY_MODEL);
    else if (call->role == TC_ROLE_OPERATOR || call->role == TC_ROLE_FUNCTION)
        on_call(tc_process_state(state, event->process), event, sink);
}

const struct tc_source tc_source_columns = {.name = "columns",
                                            .judged = "an operator of what a root forward returned",
                                            .is_set = true,
                                            .looks_closely = true,
                                            .process_size = sizeof(struct columns),
                                            .release_process = columns_release,
                                            .observe = columns_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_COLUMN},
     .roles = {TC_ROLE_FORWARD, TC_ROLE_OPERATOR},
     .n_roles = 2,
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_COLUMN,
     .attr = TC_SYM_IS,
     .to = TC_SYM_EQUAL_VALUE,
     .held = {TC_SYM_EQUAL},
     .broken = {TC_SYM_DIFFERS},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .expected =
            "a column that a model returns is not combined with a vector of as many numbers", .seen = "a column met a vector: each number of the one was combined with all of the other",
     },
};

const struct tc_relation tc_api_arg_column = {
    .name = "APIArg/column",
    .summary = "what a model returns as a column is not combined with a vector",
    .hint = "Which of the two has a dimension too many, or too few (squeeze, view)?",
    .fault = TC_FAULT_AT_BEGIN,
    .excused_by = 1u << TC_ROLE_FUNCTION | 1u << TC_ROLE_OPERATOR,
    .needs_operators = true,
    .source = &tc_source_columns,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
