/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_unknown.c - operators without a rule: a keyed hash of all they read
 *
 * Equal arguments give equal results, and nothing else is known. So a job is verified where both
 * sides apply such an operator to the same values. What differs after it tells nothing: the
 * operator may be one that works on parts.
 */
#include "plan/eval.h"

#include <string.h>

#include "base/hash.h"

static tc_el absorb(const struct tc_function *f, tc_el state, struct tc_eval *e,
                    const struct tc_plan_tensor *t)
{
    const tc_el *p = tc_eval_read(e, t);

    state = tc_el_apply2(f, state, tc_el_int(t->n_dims));
    for (unsigned d = 0; d < t->n_dims; d++)
        state = tc_el_apply2(f, state, tc_el_int(t->sizes[d]));
    for (int64_t i = 0; i < t->numel; i++)
        state = tc_el_apply2(f, state, p[i]);
    return state;
}

static void run_unknown(struct tc_eval *e)
{
    const struct tc_plan_op *op = e->op;
    uint64_t name = tc_hash64(op->name, strlen(op->name), op->attributes);
    struct tc_function f = tc_eval_function(e, TC_FN_UNKNOWN, (int)(name & INT32_MAX),
                                            (double)(name >> 32), (double)op->part);
    tc_el state = TC_EL_ONE;

    for (uint32_t k = 0; k < op->n_reads; k++)
        state = absorb(&f, state, e, op->reads[k]);
    for (uint32_t k = 0; k < op->n_outs; k++) {
        const struct tc_plan_tensor *out = op->outs[k];
        if (!out)
            continue;
        tc_el *to = tc_eval_new(e, (size_t)out->numel);
        tc_el first = tc_el_apply2(&f, state, tc_el_int(k));
        for (int64_t i = 0; i < out->numel; i++)
            to[i] = tc_el_apply2(&f, first, tc_el_int(i));
        tc_eval_write(e, k, to, (size_t)out->numel);
    }
}

const struct tc_rule tc_rule_unknown = {"", "", run_unknown, TC_RULE_PLAIN, 0, 0};

/* What brings ranks together or draws is no function of what it reads. */
bool tc_rule_may_be_unknown(const char *op)
{
    return !strstr(op, "c10d") && strncmp(op, "fsdp.", 5) != 0 && strncmp(op, "_dtensor.", 9) != 0;
}
