/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_added.c - APIArg/added: a mask that is added to scores is no mask of ones
 *
 * Attention leaves out places by a boolean mask, or adds a mask of numbers to its scores: minus
 * infinity leaves out. A triangle of ones and zeros was meant as the first and has the type of the
 * second. It adds one to some scores, and leaves out nothing: the future is visible.
 *
 * A triangle of ones is what functions of one tensor and of whole numbers make of a tensor that is
 * one throughout, and that is not one throughout itself. An example for each attention that is
 * given a mask of numbers. It is broken from the third on whose mask is such a triangle.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_KNOWN 4096

/* Of one process. */
struct triangles {
    struct tc_map known; /* serial → 1 */
    uint64_t n;          /* masks that were one */
};

static void triangles_release(void *of_process)
{
    tc_map_release(&((struct triangles *)of_process)->known);
}

static bool is_of_numbers(const struct tc_value *tensor)
{
    return tc_is_of_dtype(tc_value_get(tensor, "dtype"), "float") && !tc_requires_gradient(tensor);
}

static bool is_known(const struct triangles *triangles, const struct tc_value *tensor)
{
    uint64_t one;

    return tc_map_get(&triangles->known, (uint64_t)tc_serial_of(tensor), &one);
}

static bool is_one_throughout(const struct tc_value *tensor)
{
    double constant;

    return tc_value_number(tc_value_get(tensor, "constant"), &constant) && constant == 1;
}

/* Is a place, a size or an index among its operands, and no number that could scale? */
static bool takes_places(const struct tc_call *call)
{
    bool has_place = false;

    for (uint32_t i = 0; call->args && i < call->args->n; i++) {
        const struct tc_value *operand = &call->args->members[i].value;
        if (operand->kind == TC_VALUE_FLOAT || tc_value_get(call->args, "other"))
            return false;
        has_place |= operand->kind == TC_VALUE_INT || operand->kind == TC_VALUE_ARRAY;
    }
    return has_place;
}

static void note_triangle(struct triangles *triangles, const struct tc_call *call)
{
    const struct tc_value *value = call->end->value, *first = tc_first_tensor(call), *operand;
    uint32_t n = call->self == first;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        n++;
    if (n != 1 || !is_of_numbers(value) || tc_n_dimensions(value) < 2 ||
        tc_value_get(value, "constant") || !takes_places(call) ||
        (!is_one_throughout(first) && !is_known(triangles, first)))
        return;
    tc_map_remember(&triangles->known, MAX_KNOWN, (uint64_t)tc_serial_of(value), 1);
}

static void added_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *mask = tc_value_get(call->args, "attn_mask");
    struct triangles *triangles = tc_hearing_state(h);

    if (!tc_value_get(call->args, "query")) {
        note_triangle(triangles, call);
    } else if (is_of_numbers(mask)) {
        const bool is_triangle = is_known(triangles, mask);
        triangles->n += is_triangle;
        if (!is_triangle || triangles->n >= TC_THIRD_TIME)
            tc_answer(h, !is_triangle);
    }
}

const struct tc_relation_rule tc_rule_added = {
    TC_RULE(tc_rule_added),
    .form.name = "APIArg/added",
    .form.summary = "a mask that is added to scores is no mask of ones",
    .form.hint = "Should the mask be boolean, or have minus infinity where it has to leave out?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "added",
    .source.judged = "attention that is given a mask of numbers",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct triangles),
    .source.release_process = triangles_release,
    TC_CLAIM_ROLES(TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_ATTENTION, TC_SYM_IS, TC_SYM_MASKED),
    TC_CLAIM_ATOMS(TC_SYM_ATTENTION, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a mask of numbers that attention adds to its scores is no triangle of ones",
    .claim.seen = "the mask was a triangle of ones, which is added to scores and leaves out "
                  "nothing, for the third time or more",
    .at = TC_AT(OPERATOR) | TC_AT(FUNCTION),
    .judge = added_judge,
};
