/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_shifted.c - APIArg/shifted: a model that looks back does not learn what it is given
 *
 * Causal attention lets each place see those before it and itself. The input at a place is no
 * label of that place, as the model would learn to copy. Labels are the next words.
 *
 * There is an example for each loss of integers, of scores that a root forward with causal
 * attention made. It is broken from the third on whose labels are, number by number, what that
 * forward embedded.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_GIVEN 4

/* Of one process. */
struct shifts {
    int64_t causal;            /* id, plus one, of the last root forward that has looked back */
    int64_t root;              /* id, plus one, of the last that embedded something */
    uint64_t given[MAX_GIVEN]; /* digests of that */
    size_t n_given;
    uint64_t n_copied;
};

/* A square of booleans that has the lower triangle, for each of so many. */
static bool is_triangle(const struct tc_value *mask)
{
    const int64_t n = tc_n_dimensions(mask), size = n < 2 ? 0 : tc_size_of(mask, (uint32_t)n - 1),
                  all = tc_count_elements(tc_value_get(mask, "shape"));
    const struct tc_value *summary = tc_value_get(mask, "summary");

    return size > 1 && tc_size_of(mask, (uint32_t)n - 2) == size &&
           2 * tc_value_int(tc_value_get(summary, "true"), 0) == all / size * (size + 1);
}

static void on_attention(struct shifts *shifts, const struct tc_call *call)
{
    const struct tc_value *flag = tc_value_get(call->args, "is_causal"),
                          *mask = tc_value_get(call->args, "attn_mask");
    const struct tc_call *root = tc_root_around(call);

    if (root && (tc_value_is_true(flag) || is_triangle(mask)))
        shifts->causal = root->id + 1;
}

/* What is embedded is what the model is given; labels that it is handed are not. */
static void on_embedding(struct shifts *shifts, const struct tc_call *call)
{
    const uint64_t content = tc_rich_content(tc_value_get(call->args, "input"));
    const struct tc_call *root = tc_root_around(call);

    if (!root || !content)
        return;
    if (shifts->root != root->id + 1)
        shifts->n_given = 0;
    shifts->root = root->id + 1;
    if (shifts->n_given < MAX_GIVEN)
        shifts->given[shifts->n_given++] = content;
}

static bool is_given(const struct shifts *shifts, uint64_t content)
{
    bool is_found = false;

    for (size_t i = 0; i < shifts->n_given; i++)
        is_found |= shifts->given[i] == content;
    return is_found;
}

static void on_loss(const struct tc_hearing *h, struct shifts *shifts)
{
    const struct tc_call *call = h->event->call, *root = tc_root_around(call);
    const uint64_t content = tc_rich_content(tc_value_get(call->args, "target"));

    if (!content || !tc_is_loss_value(call->end->value))
        return;
    if (!shifts->n_given || shifts->causal != shifts->root ||
        (root && root->id + 1 != shifts->root))
        return;
    const bool is_copied = is_given(shifts, content);
    shifts->n_copied += is_copied;
    if (!is_copied || shifts->n_copied >= TC_THIRD_TIME)
        tc_answer(h, !is_copied);
}

static void shifted_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct shifts *shifts = tc_hearing_state(h);

    if (tc_value_get(call->args, "is_causal"))
        on_attention(shifts, call);
    else if (tc_value_get(call->args, "padding_idx"))
        on_embedding(shifts, call);
    else
        on_loss(h, shifts);
}

const struct tc_relation_rule tc_rule_shifted = {
    TC_RULE(tc_rule_shifted),
    .form.name = "APIArg/shifted",
    .form.summary = "a model that looks back does not learn what it is given",
    .form.hint = "Are labels shifted by one place, here or by the model?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_content = true,
    .source.name = "shifted",
    .source.judged = "the return of a loss behind causal attention",
    .source.process_size = sizeof(struct shifts),
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_NEXT),
    TC_CLAIM_ATOMS(TC_SYM_F_TARGET, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "the labels of a model with causal attention are not what it is given",
    .claim.seen = "the labels are what the model was given, place by place: it learns to copy",
    .at = TC_AT(FUNCTION),
    .judge = shifted_judge,
};
