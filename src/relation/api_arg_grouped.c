/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_grouped.c - APIArg/grouped: answers are grouped as their prompts were repeated
 *
 * Prompts are repeated, and what is said of each answer is compared with the others of its prompt.
 * repeat() puts the prompts one behind another, again and again; repeat_interleave() each as often
 * in a row. Rows that are cut into groups in a row belong together only after the second: after the
 * first, each group holds an answer of many prompts, and how good one is says how easy its prompt
 * is.
 *
 * By shapes: a call that is told `repeats` makes of B rows g times as many. What is repeated last
 * counts. A vector of so many numbers is made a matrix of B rows of g, and something is computed of
 * each row. An example for each computation, held where prompts were repeated in a row, or where
 * the matrix has g rows of B and its columns are asked. It is broken from the third in a row on.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one process. */
struct groups {
    int64_t n_rows, n_times; /* of what was repeated last; 0: nothing was */
    bool is_in_turns;        /* all rows, and then all of them again */
    int64_t matrix;          /* serial of the vector that was made a matrix; 0: none is */
    bool has_groups;         /* B rows of g; or g of B */
    uint64_t n_broken;       /* in a row */
};

static int64_t repeats_of(const struct tc_call *call, bool *is_in_turns)
{
    const struct tc_value *repeats = tc_value_get(call->args, "repeats");

    *is_in_turns = repeats && repeats->kind == TC_VALUE_ARRAY;
    if (!*is_in_turns)
        return repeats && repeats->kind == TC_VALUE_INT ? repeats->integer : 0;
    for (uint32_t i = 1; i < repeats->n; i++)
        if (tc_value_int(&repeats->items[i], 0) != 1)
            return 0;
    return repeats->n ? tc_value_int(&repeats->items[0], 0) : 0;
}

/* A whole tensor of B rows was made one of so many times as many. */
static void on_repeat(struct groups *groups, const struct tc_call *call)
{
    bool is_in_turns;
    const int64_t n_times = repeats_of(call, &is_in_turns);
    const int64_t n_rows = tc_size_of(call->self, 0);

    if (n_times < 2 || n_rows < 2 || tc_size_of(call->end->value, 0) != n_rows * n_times)
        return;
    *groups = (struct groups){.n_rows = n_rows,
                              .n_times = n_times,
                              .is_in_turns = is_in_turns,
                              .n_broken = groups->n_broken};
}

static void on_matrix(struct groups *groups, const struct tc_call *call)
{
    const struct tc_value *value = call->end->value;
    const int64_t n = tc_size_of(value, 0), m = tc_size_of(value, 1);
    const bool has_groups = n == groups->n_rows && m == groups->n_times;

    if (tc_size_of(call->self, 0) != n * m ||
        (!has_groups && (n != groups->n_times || m != groups->n_rows)))
        return;
    groups->matrix = tc_serial_of(value);
    groups->has_groups = has_groups;
}

/* Something is computed of each row of the matrix, or of each column: `dim` is what is gone. */
static void on_reduction(const struct tc_hearing *h, struct groups *groups)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *dim = tc_value_get(call->args, "dim");
    const int64_t n = tc_size_of(call->self, 0), m = tc_size_of(call->self, 1);

    if (!dim || dim->kind != TC_VALUE_INT || dim->integer < -2 || dim->integer > 1 ||
        n * m != groups->n_rows * groups->n_times)
        return;
    const bool is_of_rows = dim->integer == 1 || dim->integer == -1;
    if (tc_count_elements(tc_value_get(call->end->value, "shape")) != (is_of_rows ? n : m) ||
        is_of_rows != groups->has_groups)
        return;
    const bool is_broken = groups->has_groups && groups->is_in_turns;
    groups->n_broken = tc_in_a_row(groups->n_broken, is_broken);
    if (!is_broken || groups->n_broken >= TC_THIRD_TIME)
        tc_answer(h, !is_broken);
}

static void grouped_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct groups *groups = tc_hearing_state(h);
    const int64_t n = tc_n_dimensions(call->self);

    if (tc_value_get(call->args, "repeats"))
        on_repeat(groups, call);
    else if (groups->n_rows && n == 1 && tc_n_dimensions(call->end->value) == 2)
        on_matrix(groups, call);
    else if (groups->matrix && n == 2 && tc_serial_of(call->self) == groups->matrix)
        on_reduction(h, groups);
}

const struct tc_relation_rule tc_rule_grouped = {
    TC_RULE(tc_rule_grouped),
    .form.name = "APIArg/grouped",
    .form.summary = "answers are grouped as their prompts were repeated",
    .form.hint = "Are the prompts to be repeated with repeat_interleave(), or the groups to be the "
                 "columns?",
    .form.needs_operators = true,
    .source.name = "grouped",
    .source.judged = "something is computed of each group of what was repeated",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct groups),
    TC_CLAIM_ROLES(TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_EQUAL_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_REPEATED, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what is repeated in turns is not grouped as if it was repeated in a row",
    .claim.seen = "rows that were repeated in turns were cut into groups in a row, for the third "
                  "time or more: each holds several of them",
    .at = TC_AT(OPERATOR) | TC_AT(FUNCTION),
    .judge = grouped_judge,
};
