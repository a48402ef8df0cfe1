/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_end.c - APIArg/end: what is read at the end of rows is no padding
 *
 * If shorter rows are padded at the end, `x[:, -1]` of a model's result is, in these rows, the
 * result for padding: the next word, or a score of the whole, is read at the wrong place. Rows
 * that are padded at the beginning all end with something.
 *
 * There is an example for each `x[:, -1]` of numbers with a place for each place of the mask of
 * the forward before it, if a row is padded. It is broken from the third on in which the mask
 * ends in padding.
 */
#include "relation/one_claim.h"
#include "relation/rows_padded.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one process. */
struct ends {
    struct tc_rows_padded last; /* of the last root forward */
    bool has_last;
    uint64_t n_padded; /* reads of padding */
};

/* Is it `[:, -1]`, whatever follows? */
static bool is_last_column(const struct tc_value *index)
{
    const struct tc_value *rows;

    if (!index || index->kind != TC_VALUE_ARRAY || index->n < 2)
        return false;
    rows = &index->items[0];
    return tc_value_is(tc_value_get(rows, "object"), "slice") &&
           !tc_value_get(tc_value_get(rows, "attrs"), "start") &&
           !tc_value_get(tc_value_get(rows, "attrs"), "stop") &&
           index->items[1].kind == TC_VALUE_INT && index->items[1].integer == -1;
}

static void on_read(const struct tc_hearing *h, struct ends *ends)
{
    const struct tc_call *call = h->event->call, *root = tc_root_around(call);
    struct tc_rows_padded rows = ends->last;
    const bool is_told = root ? tc_rows_padded_of(root, &rows) : ends->has_last;

    if (!is_told || !is_last_column(tc_value_get(call->args, "index")) ||
        tc_value_get(call->self, "summary") || tc_size_of(call->self, 0) != rows.rows ||
        tc_size_of(call->self, 1) != rows.columns || rows.rows < 2 ||
        rows.n_visible == rows.rows * rows.columns)
        return;
    ends->n_padded += rows.ends_in_padding;
    if (!rows.ends_in_padding || ends->n_padded >= TC_THIRD_TIME)
        tc_answer(h, !rows.ends_in_padding);
}

static void end_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct ends *ends = tc_hearing_state(h);

    if (call->is_root)
        ends->has_last = tc_rows_padded_of(call, &ends->last);
    else
        on_read(h, ends);
}

const struct tc_relation_rule tc_rule_end = {
    TC_RULE(tc_rule_end),
    .form.name = "APIArg/end",
    .form.summary = "what is read at the end of rows is no padding",
    .form.hint = "Are rows filled up on the left, or is the last place of each row looked for?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "ends",
    .source.judged = "an index of the last column",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct ends),
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_ATTENTION_MASK, TC_SYM_IS, TC_SYM_VISIBLE),
    TC_CLAIM_ATOMS(TC_SYM_F_ATTENTION_MASK, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "the last column of what a model says is read where no row ends in padding",
    .claim.seen = "the last column was read, and the mask says that some rows end in padding",
    .at = TC_AT_ROOT | TC_AT(OPERATOR),
    .judge = end_judge,
};
