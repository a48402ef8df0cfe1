/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_masked.c - APIArg/masked: attention gets a mask of padding if the model does
 *
 * A model that gets a mask of padding passes it on to attention, or passes on what it makes of
 * it. Attention without any mask reads padding like everything else, and the result for a row
 * depends on how long the others of its batch are.
 *
 * There is an example for each root forward that gets a mask with padding in it, at its first
 * attention over as many rows and places. It is broken from the third on without any mask. Causal
 * attention needs none if rows are padded at the end.
 */
#include "relation/one_claim.h"
#include "relation/rows_padded.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one process. */
struct masks {
    int64_t judged; /* id of the root forward that was last, from 1 on */
    uint64_t n_unmasked;
};

static bool is_given(const struct tc_call *call, const char *name)
{
    const struct tc_value *mask = tc_value_get(call->args, name);

    return mask && mask->kind != TC_VALUE_NULL;
}

/* Has it any mask? */
static bool is_masked(const struct tc_call *call)
{
    const struct tc_value *flag = tc_value_get(call->args, "is_causal");

    return is_given(call, "attn_mask") || is_given(call, "key_padding_mask") ||
           tc_value_is_true(flag);
}

/* Are its keys those places? [rows, heads, places, features], or [places, rows, features]. */
static bool is_over(const struct tc_call *call, const struct tc_rows_padded *rows)
{
    const struct tc_value *key = tc_value_get(call->args, "key");
    const int64_t n = tc_n_dimensions(key);

    return n == 4   ? tc_size_of(key, 0) == rows->rows && tc_size_of(key, 2) == rows->columns
           : n == 3 ? tc_size_of(key, 0) == rows->columns && tc_size_of(key, 1) == rows->rows
                    : false;
}

static void masked_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call, *root;
    struct masks *masks = tc_hearing_state(h);
    struct tc_rows_padded rows;

    if (!tc_value_get(call->args, "attn_mask") || !(root = tc_root_around(call)) ||
        masks->judged == root->id + 1 || !tc_rows_padded_of(root, &rows) ||
        rows.n_visible == rows.rows * rows.columns || !is_over(call, &rows))
        return;
    const bool masked = is_masked(call);
    masks->judged = root->id + 1;
    masks->n_unmasked += !masked;
    if (masked || masks->n_unmasked >= TC_THIRD_TIME)
        tc_answer(h, masked);
}

const struct tc_relation_rule tc_rule_masked = {
    TC_RULE(tc_rule_masked),
    .form.name = "APIArg/masked",
    .form.summary = "attention gets a mask of padding if the model does",
    .form.hint = "Does the model hand its mask of padding on to attention?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_content = true,
    .source.name = "masked",
    .source.judged = "the first attention over rows that are filled up",
    .source.process_size = sizeof(struct masks),
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_ATTENTION, TC_SYM_IS, TC_SYM_MASKED),
    TC_CLAIM_ATOMS(TC_SYM_ATTENTION, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "attention is given a mask, where the model is given one that tells of "
                      "padding",
    .claim.seen = "the model was given a mask that tells of padding, and attention was given none",
    .at = TC_AT(FUNCTION),
    .judge = masked_judge,
};
