/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounded.c - numbers that ranks exchange before the step, and one device has rounded
 *
 * The mean of all rewards, say: one device computes it before its step, so its plan has a float of
 * it. The job's plan has the exchange, which is evaluated exactly. They differ by rounding alone,
 * and exact arithmetic calls that wrong. Whole numbers and small ratios are exact on both sides.
 */
#include <string.h>

#include "plan/judge.h"
#include "plan/relate.h"
#include "plan/rules.h"

static bool is_rounded(const struct tc_plan_const *c)
{
    int64_t num, den;

    for (int64_t i = 0; i < (c->is_fill ? 1 : c->n); i++)
        if (!tc_el_is_marked(c->data[i]) && !tc_relate_ratio(c->data[i], &num, &den))
            return true;
    return false;
}

static bool starts_step(const struct tc_plan_rank *rank, const struct tc_plan_op *op)
{
    for (size_t i = 0; i < rank->inits.n; i++)
        if (!rank->inits.items[i].data && tc_plan_reads(op, rank->inits.items[i].tensor.storage))
            return true;
    return false;
}

/* The first exchange of such numbers before anything reads a parameter; NULL: there is none. */
static const struct tc_plan_op *find_exchange(const struct tc_plan_rank *rank)
{
    const tc_plan_ops *ops = &rank->program->ops;

    for (size_t i = 0; i < ops->n && !starts_step(rank, &ops->items[i]); i++)
        for (size_t k = 0; ops->items[i].rule->kind == TC_RULE_COLLECTIVE && k < rank->consts.n;
             k++)
            if (tc_plan_reads(&ops->items[i], rank->consts.items[k].storage) &&
                is_rounded(&rank->consts.items[k]))
                return &ops->items[i];
    return NULL;
}

void tc_judge_add_rounded(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;
    const struct tc_plan_op *op = NULL;
    uint32_t rank = 0;

    for (; rank < j->parallel->world && !op; rank++)
        if (j->parallel->ranks[rank].like < 0)
            op = find_exchange(&j->parallel->ranks[rank]);
    if (!op)
        return;
    v->outcome = TC_PLAN_UNJUDGED;
    v->findings.n = 0;
    tc_judge_add_finding(
        v, op, rank - 1,
        (struct tc_plan_finding){
            .kind = "rounded",
            .text = "ranks exchange numbers here, before the step, that one device has rounded: "
                    "results differ by this, or by more",
            .hint = "compute them within the step, after the first call of the model",
        });
}
