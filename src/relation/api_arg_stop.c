/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_stop.c - APIArg/stop: the token that ends a row is learned where it fills rows, too
 *
 * Rows are filled up with the token that ends an answer, and labels of what fills them are left
 * out. If it is known by its number, the end of each answer is left out with it, and the model
 * never learns to stop.
 *
 * By columns: a root forward for training is given rows of tokens of which each ends with the same,
 * and a mask of noughts and ones by which the last place of some rows holds something and that of
 * others does not. That token ends rows, and fills them. Labels of that shape, less than zero where
 * nothing is learned, are given to the same forward, or are cut by their first column in the same
 * step. An example for each such pair: it holds where the last column of the labels shows several,
 * and is broken from the tenth in a row on where none of the last places is learned.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one process. */
struct stopping {
    bool has_end; /* in this step: rows end with what fills them */
    int64_t rows, columns;
    bool has_labels;
    int64_t of_rows, of_columns; /* the labels */
    bool is_left_out;            /* the last of each row */
    uint64_t n;                  /* in a row */
};

static bool is_rows(const struct tc_value *tensor)
{
    return tc_value_get(tensor, "summary") && tc_n_dimensions(tensor) == 2;
}

static bool is_shape(const struct tc_value *tensor, int64_t rows, int64_t columns)
{
    return tc_size_of(tensor, 0) == rows && tc_size_of(tensor, 1) == columns;
}

/* The last places of some rows hold something, of others not. */
static bool is_mask(const struct tc_value *tensor)
{
    return tc_summary_int(tensor, "min", -1) == 0 && tc_summary_int(tensor, "max", -1) == 1 &&
           tc_summary_int(tensor, "first", -1) == 1 && tc_summary_int(tensor, "last", -1) == -1;
}

static void judge_pair(const struct tc_hearing *h, struct stopping *stopping)
{
    if (!stopping->has_end || !stopping->has_labels || stopping->rows != stopping->of_rows ||
        stopping->columns != stopping->of_columns)
        return;
    stopping->has_end = stopping->has_labels = false;
    stopping->n = tc_in_a_row(stopping->n, stopping->is_left_out);
    if (!stopping->n || stopping->n >= TC_TENTH_TIME)
        tc_answer(h, !stopping->n);
}

static void note_labels(struct stopping *stopping, const struct tc_value *tensor)
{
    if (tc_summary_int(tensor, "negative", 0) <= 0)
        return;
    stopping->has_labels = true;
    stopping->of_rows = tc_size_of(tensor, 0);
    stopping->of_columns = tc_size_of(tensor, 1);
    stopping->is_left_out = tc_summary_int(tensor, "last", 0) < 0;
}

static void on_root(const struct tc_hearing *h, struct stopping *stopping)
{
    const struct tc_value *operand, *tokens = NULL;
    bool has_mask = false;

    stopping->has_end = false;
    for (uint32_t pos = 0; (operand = tc_call_next_tensor(h->event->call, &pos));) {
        if (!is_rows(operand) ||
            (tokens && !is_shape(operand, tc_size_of(tokens, 0), tc_size_of(tokens, 1))))
            continue;
        if (!tokens && tc_summary_int(operand, "distinct", 0) > 2 &&
            tc_summary_int(operand, "min", -1) >= 0 && tc_summary_int(operand, "last", -1) >= 0)
            tokens = operand;
        else if (tokens && is_mask(operand))
            has_mask = true;
        else if (tokens)
            note_labels(stopping, operand);
    }
    if (!tokens || !has_mask)
        return;
    stopping->has_end = true;
    stopping->rows = tc_size_of(tokens, 0);
    stopping->columns = tc_size_of(tokens, 1);
    judge_pair(h, stopping);
}

/* `[:, 1:]` of labels. */
static bool is_cut(const struct tc_call *call)
{
    const struct tc_value *index = tc_value_get(call->args, "index");

    return is_rows(call->self) && index && index->kind == TC_VALUE_ARRAY && index->n == 2 &&
           tc_value_int(tc_value_get(tc_value_get(&index->items[1], "attrs"), "start"), 0) == 1 &&
           !tc_value_get(tc_value_get(&index->items[1], "attrs"), "stop");
}

static void stop_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct stopping *stopping = tc_hearing_state(h);

    if (call->role == TC_ROLE_STEP) {
        stopping->has_end = stopping->has_labels = false;
    } else if (call->is_root) {
        if (tc_is_training_forward(call))
            on_root(h, stopping);
    } else if (is_cut(call)) {
        note_labels(stopping, call->self);
        judge_pair(h, stopping);
    }
}

const struct tc_relation_rule tc_rule_stop = {
    TC_RULE(tc_rule_stop),
    .form.name = "APIArg/stop",
    .form.summary = "the token that ends a row is learned where it fills rows, too",
    .form.hint = "Is the pad token that of the end, and are labels left out by its number?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "stop",
    .source.judged = "labels of rows that end with the token that fills them",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct stopping),
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_OPERATOR, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_LEARNED),
    TC_CLAIM_ATOMS(TC_SYM_F_TARGET, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "the token that ends rows is among the labels, though it fills rows as well",
    .claim.seen = "rows end with the token that fills others up (pad_token), and the labels leave "
                  "it out in all rows, in a tenth step in a row%p",
    .at = TC_AT_ROOT | TC_AT(OPERATOR) | TC_AT(STEP),
    .judge = stop_judge,
};
