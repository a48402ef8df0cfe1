/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_padded.c - APIArg/padded: a loss leaves out what fills rows up
 *
 * A mask says which places of its rows a model should read. Only these places have labels. With
 * more labels the model learns to write padding, and the longer the padding, the less all else
 * counts.
 *
 * There is an example for each call that makes one number of labels. They are as many as the
 * places of the mask of the forward around it, or before it, or fewer by one column, as labels
 * are shifted. It is broken from the third on that has more labels than places in use.
 * `ignore_index` says which labels are ignored. With weights, or another `reduction`, there is no
 * example.
 */
#include "relation/one_claim.h"
#include "relation/rows_padded.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one process. */
struct padded {
    struct tc_rows_padded last; /* of the last root forward in training */
    bool has_last;
    uint64_t n_padded; /* losses that had padding in them */
};

static bool is_plain_loss(const struct tc_call *call)
{
    const struct tc_value *weight = tc_value_get(call->args, "weight");

    return (!weight || weight->kind == TC_VALUE_NULL) && tc_is_loss_value(call->end->value) &&
           tc_value_get(tc_value_get(call->args, "target"), "summary");
}

/* Labels that count; -1: that is not recorded. */
static int64_t count_learned(const struct tc_call *call)
{
    const struct tc_value *target = tc_value_get(call->args, "target"),
                          *ignored = tc_value_get(call->args, "ignore_index");
    const int64_t n = tc_count_elements(tc_value_get(target, "shape"));

    if (!ignored || ignored->kind != TC_VALUE_INT)
        return -1;
    const int64_t n_ignored = tc_count_of_number(target, ignored->integer);
    return n_ignored < 0 ? -1 : n - n_ignored;
}

static bool has_places_of(const struct tc_value *target, const struct tc_rows_padded *rows)
{
    const int64_t n = tc_count_elements(tc_value_get(target, "shape"));

    return n == rows->rows * rows->columns || n == rows->rows * (rows->columns - 1);
}

static void on_loss(const struct tc_hearing *h, struct padded *padded)
{
    const struct tc_call *call = h->event->call, *root = tc_root_around(call);
    struct tc_rows_padded rows = padded->last;
    const bool is_told = root ? tc_rows_padded_of(root, &rows) : padded->has_last;

    if (!is_told || !is_plain_loss(call) ||
        !has_places_of(tc_value_get(call->args, "target"), &rows) ||
        rows.n_visible == rows.rows * rows.columns)
        return;
    const int64_t n_learned = count_learned(call);
    if (n_learned < 0)
        return;
    padded->n_padded += n_learned > rows.n_visible;
    if (n_learned <= rows.n_visible || padded->n_padded >= TC_THIRD_TIME)
        tc_answer(h, n_learned <= rows.n_visible);
}

static void padded_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct padded *padded = tc_hearing_state(h);

    if (call->role == TC_ROLE_FUNCTION)
        on_loss(h, padded);
    else if (tc_is_training_forward(call))
        padded->has_last = tc_rows_padded_of(call, &padded->last);
}

const struct tc_relation_rule tc_rule_padded = {
    TC_RULE(tc_rule_padded),
    .form.name = "APIArg/padded",
    .form.summary = "a loss leaves out what fills rows up",
    .form.hint = "Are labels of padding set to ignore_index?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_content = true,
    .source.name = "padded",
    .source.judged = "the return of a loss of rows that are filled up",
    .source.process_size = sizeof(struct padded),
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_VISIBLE),
    TC_CLAIM_ATOMS(TC_SYM_F_TARGET, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a loss has no more labels than places of the batch hold something",
    .claim.seen = "more labels were learned than the mask of the model has places that hold "
                  "something: padding is learned",
    .at = TC_AT_ROOT | TC_AT(FUNCTION),
    .judge = padded_judge,
};
