/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_exact.c - APIOutput/exact: whole numbers that are converted stay what they are
 *
 * A floating point number of few bits holds all integers to 256 (bfloat16) or 2048 (float16), and
 * beyond that only some. Positions, hours and indices that are converted to it are rounded, so
 * that neighbours become one.
 *
 * There is an example for each operator of the script that makes floating point numbers of one
 * tensor of integers, in its shape, and of no other tensor. The smallest and the largest integer
 * are known, and how many there are. It is broken if one of them is certainly rounded.
 */
#include "relation/one_claim.h"

#include <math.h>
#include <string.h>

#include "relation/operand.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* How many bits of a whole number each type keeps: its significand, as IEEE 754 has it. */
static const struct {
    const char *dtype;
    unsigned bits;
} types[] = {
    {"bfloat16", 8 },
    {"float16",  11},
    {"float32",  24},
    {"float64",  53},
};

static unsigned bits_of(const struct tc_value *tensor)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (tc_str_is(tc_value_str(tc_value_get(tensor, "dtype")), types[i].dtype))
            return types[i].bits;
    return 0;
}

static bool is_kept(int64_t number, unsigned bits)
{
    uint64_t n = number < 0 ? -(uint64_t)number : (uint64_t)number;

    while (n && n % 2 == 0)
        n /= 2;
    return n >> bits == 0;
}

/* So many whole numbers from 0 to n, n included, are kept. */
static double count_kept(double n, unsigned bits)
{
    double kept = 1;

    for (double low = 1, gap = 1; low <= n; low *= 2) { /* from each power of two to the next */
        gap = low >= ldexp(1, (int)bits) ? gap * 2 : 1;
        kept += floor((fmin(n, low * 2 - 1) - low) / gap) + 1;
    }
    return kept;
}

static double count_between(int64_t low, int64_t high, unsigned bits)
{
    if (low > 0)
        return count_kept((double)high, bits) - count_kept((double)low - 1, bits);
    if (high < 0)
        return count_between(-high, -low, bits);
    return count_kept((double)high, bits) + count_kept((double)-low, bits) - 1;
}

/* The only tensor that the call is given; NULL if there is none, or another one. */
static const struct tc_value *only_operand(const struct tc_call *call)
{
    uint32_t pos = 0;
    const struct tc_value *first =
        tc_is_tensor(call->self) ? call->self : tc_call_next_tensor(call, &pos);

    return tc_call_next_tensor(call, &pos) ? NULL : first;
}

static void exact_judge(const struct tc_hearing *h)
{
    const struct tc_value *operand = only_operand(h->event->call),
                          *result = h->event->call->end->value;
    const unsigned bits = bits_of(result);

    if (!bits || bits_of(operand))
        return;
    const struct tc_value *summary = tc_value_get(operand, "summary");
    const int64_t least = tc_value_int(tc_value_get(summary, "min"), INT64_MIN);
    const int64_t most = tc_value_int(tc_value_get(summary, "max"), INT64_MIN);
    const int64_t distinct = tc_value_int(tc_value_get(summary, "distinct"), 0);
    if (least != INT64_MIN && most >= least &&
        tc_operand_is_same_shape(tc_value_get(operand, "shape"), tc_value_get(result, "shape")))
        tc_answer(h, is_kept(least, bits) && is_kept(most, bits) &&
                         (double)distinct <= count_between(least, most, bits));
}

const struct tc_relation_rule tc_rule_exact = {
    TC_RULE(tc_rule_exact),
    .form.name = "APIOutput/exact",
    .form.summary = "whole numbers that are converted stay what they are",
    .form.hint =
        "Are positions, hours or indices converted to a type of few bits before they are used?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "exact",
    .source.judged = "the return of a conversion of integers",
    .source.looks_closely = true,
    TC_CLAIM_ROLES(TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_EXACT),
    TC_CLAIM_ATOMS(TC_SYM_WHOLE, TC_SYM_EXACT, TC_SYM_ROUNDED),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_USAGE,
    .claim.expected = "whole numbers that are converted stay what they are",
    .claim.seen = "whole numbers were rounded: the type has too few bits for them",
    .at = TC_AT(OPERATOR) | TC_AT_WORKER,
    .judge = exact_judge,
};
