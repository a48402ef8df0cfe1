/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg.c - APIArg(Ia, operand, ...): what the operands of a call are
 *
 *   constant   an operand is always this: a boolean, zero, or a dimension that counts from the
 *              end
 *   upper      a number of the receiver is at most another
 *   equal      two operands agree, or an operand agrees with the mode it is used in
 *
 * The receiver's own settings belong to the situation and are no facts. Exceptions are the mode
 * of a root module, and how far a schedule has come and goes.
 */
#include "relation/operand_form.h"

#include "replay/symbols.h"

/* A loss without any gradient may be logged and not trained on: only the contrary is a claim. */
static bool is_contrary(const struct tc_statement *s)
{
    const struct tc_operand_whole *whole = tc_operand_whole(s->left.root);

    return whole && s->right != whole->claimed;
}

static bool is_constant(const struct tc_statement *s)
{
    return !is_contrary(s) && s->verb == TC_SYM_IS && s->right != TC_SYM_NOT_ZERO &&
           s->right != TC_SYM_LEFT &&
           (tc_path_is_argument(&s->left) || s->left.sym == TC_SYM_F_SELF_TRAINING);
}

static bool is_equality(const struct tc_statement *s)
{
    return s->verb == TC_SYM_EQUALS && tc_path_is_argument(&s->left);
}

static bool is_upper_bound(const struct tc_statement *s)
{
    return s->verb == TC_SYM_AT_MOST && s->left.root == TC_PATH_SETTING;
}

const struct tc_relation tc_api_arg_constant = {
    .name = "APIArg/constant",
    .summary = "an operand of a call is always this, or always in this mode",
    .hint = "Was the mode set before the call (train, eval, no_grad), and is the operand meant so?",
    .fault = TC_FAULT_AT_BEGIN,
    .has_context = tc_operand_has_context,
    .mode_only = true,
    .states = is_constant,
    .usual = TC_SUPPORT_USAGE,
    .undecidable = tc_operand_undecidable,
    TC_OPERAND_FORM,
};

const struct tc_relation tc_api_arg_equal = {
    .name = "APIArg/equal",
    .summary = "two operands of a call agree, or one agrees with the mode it is used in",
    .hint = "Which of the two comes from the wrong place?",
    .fault = TC_FAULT_AT_BEGIN,
    .states = is_equality,
    .usual = TC_SUPPORT_COIN,
    TC_OPERAND_FORM,
};

const struct tc_relation tc_api_arg_upper = {
    .name = "APIArg/upper",
    .summary = "a schedule has not come further than it goes",
    .hint = "Is the length of the schedule counted in what it is stepped by: epochs, or batches?",
    .fault = TC_FAULT_AT_BEGIN,
    .states = is_upper_bound,
    .usual = TC_SUPPORT_USAGE,
    TC_OPERAND_FORM,
};
