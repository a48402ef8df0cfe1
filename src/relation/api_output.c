/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output.c - APIOutput(Ia, bound): what a call returns
 *
 *   constant   a boolean, or a list that is empty
 *   equal      to a property of an operand, to the dtype of autocast, or in content to an operand
 *   lower      a size of the result is at least an operand
 *   upper      a size of the result is at most an operand
 *   finite     no NaN and no infinity
 */
#include "relation/operand_form.h"

static bool is_result(const struct tc_path *path)
{
    return path->root == TC_PATH_RESULT || path->root == TC_PATH_LENGTH;
}

static bool is_constant(const struct tc_statement *s)
{
    return s->verb == TC_SYM_IS && is_result(&s->left) && s->right != TC_SYM_NOT_ZERO &&
           s->right != TC_SYM_FINITE && s->right != TC_SYM_NOT_FINITE;
}

static bool is_equality(const struct tc_statement *s)
{
    return s->verb == TC_SYM_EQUALS && is_result(&s->left);
}

static bool is_upper_bound(const struct tc_statement *s)
{
    return s->verb == TC_SYM_AT_MOST && s->left.root != TC_PATH_SETTING;
}

static bool is_lower_bound(const struct tc_statement *s)
{
    return s->verb == TC_SYM_AT_LEAST;
}

static bool is_finite(const struct tc_statement *s)
{
    return s->right == TC_SYM_FINITE;
}

const struct tc_relation tc_api_output_constant = {
    .name = "APIOutput/constant",
    .summary = "a call always returns this boolean, or an empty list",
    .hint = "What does the call report, and is it looked at?",
    .has_context = tc_operand_has_context,
    .mode_only = true,
    .states = is_constant,
    .usual = TC_SUPPORT_USAGE,
    .undecidable = tc_operand_undecidable,
    TC_OPERAND_FORM,
};

const struct tc_relation tc_api_output_equal = {
    .name = "APIOutput/equal",
    .summary = "the result of a call agrees with an operand, or with autocast",
    .hint = "Does the call really run in the mode (evaluation, autocast) that is set around it?",
    .states = is_equality,
    .usual = TC_SUPPORT_COIN,
    TC_OPERAND_FORM,
};

const struct tc_relation tc_api_output_lower = {
    .name = "APIOutput/lower",
    .summary = "a size of the result of a call is at least an operand",
    .hint = "Did the call give as much as was asked for, or was something dropped before it?",
    .states = is_lower_bound,
    .usual = TC_SUPPORT_COIN,
    TC_OPERAND_FORM,
};

const struct tc_relation tc_api_output_upper = {
    .name = "APIOutput/upper",
    .summary = "a size of the result of a call is at most an operand",
    .hint = "Is the limit that was asked for the one that is applied?",
    .states = is_upper_bound,
    .usual = TC_SUPPORT_COIN,
    TC_OPERAND_FORM,
};

const struct tc_relation tc_api_output_finite = {
    .name = "APIOutput/finite",
    .summary = "the result of a call, or the loss of a backward, holds no NaN and no infinity",
    .hint = "Which input of the call is the first that is not finite? A script that leaves such "
            "batches out accepts it with --suppress.",
    .states = is_finite,
    .usual = TC_SUPPORT_USAGE,
    TC_OPERAND_FORM,
};
