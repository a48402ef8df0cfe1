/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_padding.c - APIArg/padding: a padding mask leaves out what fills rows up
 *
 * torch's layers leave out the places at which a key_padding_mask is true. The function
 * scaled_dot_product_attention leaves out those at which a boolean attn_mask is false
 * (pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html).
 * Padding is at the end or at the beginning of rows, and one row of a batch is full. A mask that
 * leaves out the first place of all rows, but not the last of all, leaves out the words: it is
 * inverted. It is broken by the third such mask of a process if all were such, as rows may all be
 * padded at the left.
 *
 * There is an example for each call of a layer with such a mask of two dimensions, and of a
 * function with one that is the same for all queries.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include <string.h>

#include "replay/symbols.h"

/* Of one process. */
struct masks {
    unsigned n_turned; /* before one was otherwise */
    bool has_sound;
};

static bool ends_with(struct tc_str text, const char *end)
{
    const size_t n = strlen(end);

    return text.size >= n && !memcmp(text.text + text.size - n, end, n);
}

/* The size of a tensor's dimension before the last; -1 if it has none. */
static int64_t n_rows(const struct tc_value *tensor)
{
    const int64_t n = tc_n_dimensions(tensor);

    return n >= 2 ? tc_size_of(tensor, (uint32_t)n - 2) : -1;
}

static bool is_of_layer(const struct tc_member *operand)
{
    return ends_with(operand->key, "key_padding_mask") && tc_n_dimensions(&operand->value) == 2;
}

/* The same for all queries, of which there are several: no mask of the future, and no query that is
 * the last of a sentence. */
static bool is_of_function(const struct tc_call *call, const struct tc_member *operand)
{
    return tc_str_is(operand->key, "attn_mask") && n_rows(&operand->value) == 1 &&
           n_rows(tc_value_get(call->args, "query")) > 1;
}

/* The summary of the mask among the operands; NULL if none was recorded. */
static const struct tc_value *mask_of(const struct tc_call *call)
{
    for (uint32_t i = 0; call->args && call->args->kind == TC_VALUE_OBJECT && i < call->args->n;
         i++) {
        const struct tc_member *member = &call->args->members[i];
        if (tc_value_is(tc_value_get(&member->value, "dtype"), "bool") &&
            (call->role == TC_ROLE_LAYER ? is_of_layer(member) : is_of_function(call, member)))
            return tc_value_get(&member->value, "summary");
    }
    return NULL;
}

/* Does a column show this truth value alone? */
static bool is_all(const struct tc_value *column, bool what)
{
    return column && column->kind == TC_VALUE_BOOL && column->boolean == what;
}

/* Layers leave out true places, the function false ones. */
static bool is_turned(const struct tc_value *summary, enum tc_role role)
{
    const bool left_out = role == TC_ROLE_LAYER;

    return is_all(tc_value_get(summary, "first"), left_out) &&
           !is_all(tc_value_get(summary, "last"), left_out);
}

static void padding_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *summary = mask_of(call);
    struct masks *masks;

    if (!summary)
        return;
    const bool turned = is_turned(summary, call->role);
    masks = tc_hearing_state(h);
    masks->has_sound |= !turned;
    if (!turned || (!masks->has_sound && ++masks->n_turned >= TC_THIRD_TIME))
        tc_answer(h, !turned);
}

const struct tc_relation_rule tc_rule_padding = {
    TC_RULE(tc_rule_padding),
    .form.name = "APIArg/padding",
    .form.summary = "a padding mask leaves out what fills rows up",
    .form.hint =
        "Is the mask true where it should be false? True places of a key_padding_mask are left "
        "out; of an attn_mask that scaled_dot_product_attention is given, false ones.",
    .form.excused_by = 1u << TC_ROLE_FUNCTION,
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_content = true,
    .source.name = "padding",
    .source.judged = "a call of a layer, or of attention, that is given a padding mask",
    .source.process_size = sizeof(struct masks),
    TC_CLAIM_ROLES(TC_ROLE_LAYER),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_PADDING_MASK, TC_SYM_IS, TC_SYM_NOT_ZERO),
    TC_CLAIM_ATOMS(TC_SYM_OUTSIDE, TC_SYM_OUTSIDE, TC_SYM_BETWEEN),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected =
        "the padding mask of attention does not leave out the first place of all rows and not "
        "the last",
    .claim.seen = "the mask leaves out the words, in all masks so far",
    .at = TC_AT(LAYER) | TC_AT(FUNCTION),
    .judge = padding_judge,
};
