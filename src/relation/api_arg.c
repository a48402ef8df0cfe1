/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg.c - APIArg(Ia, operand, ...): what the operands of a call are
 *
 *   constant   an operand is always this: a boolean, zero, or a dimension counted from the end
 *   equal      two operands agree, or an operand agrees with the mode it is used in
 *
 * The receiver's own settings are situation and no facts, but for the mode of a root module.
 */
#include "relation/operand_form.h"

#include "base/banned.h"

/* A loss without any gradient may be told and not trained on: only the contrary is a claim. */
static bool is_contrary(const struct tc_statement *s)
{
    return (s->left.root == TC_PATH_SOME_GRADIENT && s->right == TC_SYM_FALSE) ||
           (s->left.root == TC_PATH_ALL_GRADIENTS && s->right == TC_SYM_TRUE);
}

static bool is_constant(const struct tc_statement *s)
{
    return !is_contrary(s) && s->verb == TC_SYM_IS && s->right != TC_SYM_NOT_ZERO &&
           s->right != TC_SYM_LEFT &&
           (tc_path_is_argument(&s->left) || s->left.sym == TC_SYM_F_SELF_TRAINING);
}

static void constant_propose(struct tc_strtab *symbols, tc_sym key,
                             const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    tc_operand_propose(symbols, key, outcomes, is_constant, TC_SUPPORT_USAGE, out);
}

static bool is_equality(const struct tc_statement *s)
{
    return s->verb == TC_SYM_EQUALS && tc_path_is_argument(&s->left);
}

static void equal_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                          struct tc_hypotheses *out)
{
    tc_operand_propose(symbols, key, outcomes, is_equality, TC_SUPPORT_COIN, out);
}

const struct tc_relation tc_api_arg_constant = {
    .name = "APIArg/constant",
    .summary = "an operand of a call is always this, or always in this mode",
    .hint = "Was the mode set before the call (train, eval, no_grad), and is the operand meant so?",
    .fault = TC_FAULT_AT_BEGIN,
    .source = &tc_source_operands,
    .bans = tc_operand_bans,
    .has_context = tc_operand_has_context,
    .mode_only = true,
    .propose = constant_propose,
    .key = tc_operand_key,
    .undecidable = tc_operand_undecidable,
    .holds = tc_operand_holds,
    .describe = tc_operand_describe,
    .explain = tc_operand_explain,
};

const struct tc_relation tc_api_arg_equal = {
    .name = "APIArg/equal",
    .summary = "two operands of a call agree, or one agrees with the mode it is used in",
    .hint = "Which of the two comes from the wrong place?",
    .fault = TC_FAULT_AT_BEGIN,
    .source = &tc_source_operands,
    .bans = tc_operand_bans,
    .propose = equal_propose,
    .key = tc_operand_key,
    .holds = tc_operand_holds,
    .describe = tc_operand_describe,
    .explain = tc_operand_explain,
};
