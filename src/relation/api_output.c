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

#include "base/banned.h"

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
    return s->verb == TC_SYM_AT_MOST;
}

static bool is_lower_bound(const struct tc_statement *s)
{
    return s->verb == TC_SYM_AT_LEAST;
}

static bool is_finite(const struct tc_statement *s)
{
    return s->right == TC_SYM_FINITE;
}

static void constant_propose(struct tc_strtab *symbols, tc_sym key,
                             const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    tc_operand_propose(symbols, key, outcomes, is_constant, TC_SUPPORT_USAGE, out);
}

static void equal_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                          struct tc_hypotheses *out)
{
    tc_operand_propose(symbols, key, outcomes, is_equality, TC_SUPPORT_COIN, out);
}

static void upper_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                          struct tc_hypotheses *out)
{
    tc_operand_propose(symbols, key, outcomes, is_upper_bound, TC_SUPPORT_COIN, out);
}

static void lower_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                          struct tc_hypotheses *out)
{
    tc_operand_propose(symbols, key, outcomes, is_lower_bound, TC_SUPPORT_COIN, out);
}

static void finite_propose(struct tc_strtab *symbols, tc_sym key,
                           const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    tc_operand_propose(symbols, key, outcomes, is_finite, TC_SUPPORT_USAGE, out);
}

const struct tc_relation tc_api_output_constant = {
    .name = "APIOutput/constant",
    .summary = "a call always returns this boolean, or an empty list",
    .hint = "What does the call report, and is it looked at?",
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

const struct tc_relation tc_api_output_equal = {
    .name = "APIOutput/equal",
    .summary = "the result of a call agrees with an operand, or with autocast",
    .hint = "Does the call really run in the mode (evaluation, autocast) that is set around it?",
    .source = &tc_source_operands,
    .bans = tc_operand_bans,
    .propose = equal_propose,
    .key = tc_operand_key,
    .holds = tc_operand_holds,
    .describe = tc_operand_describe,
    .explain = tc_operand_explain,
};

const struct tc_relation tc_api_output_lower = {
    .name = "APIOutput/lower",
    .summary = "a size of the result of a call is at least an operand",
    .hint = "Did the call give as much as was asked for, or was something dropped before it?",
    .source = &tc_source_operands,
    .bans = tc_operand_bans,
    .propose = lower_propose,
    .key = tc_operand_key,
    .holds = tc_operand_holds,
    .describe = tc_operand_describe,
    .explain = tc_operand_explain,
};

const struct tc_relation tc_api_output_upper = {
    .name = "APIOutput/upper",
    .summary = "a size of the result of a call is at most an operand",
    .hint = "Is the limit that was asked for the one that is applied?",
    .source = &tc_source_operands,
    .bans = tc_operand_bans,
    .propose = upper_propose,
    .key = tc_operand_key,
    .holds = tc_operand_holds,
    .describe = tc_operand_describe,
    .explain = tc_operand_explain,
};

const struct tc_relation tc_api_output_finite = {
    .name = "APIOutput/finite",
    .summary = "the result of a call, or the loss of a backward, holds no NaN and no infinity",
    .hint = "Which input of the call is the first that is not finite?",
    .source = &tc_source_operands,
    .bans = tc_operand_bans,
    .propose = finite_propose,
    .key = tc_operand_key,
    .holds = tc_operand_holds,
    .describe = tc_operand_describe,
    .explain = tc_operand_explain,
};
