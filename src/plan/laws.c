/* SPDX-License-Identifier: Apache-2.0 */
/*
 * laws.c - do the operators of a job compute what laws of exp and log may tell equal?
 */
#include <string.h>

#include "plan/collective.h"
#include "plan/judge.h"
#include "plan/rules.h"

/* What there is among the operators of both jobs. */
struct met {
    bool has_exp, has_log, has_max;
};

static const char *const of_exp[] = {"aten.exp",           "aten._softmax", "aten.softmax",
                                     "aten._safe_softmax", "aten.sigmoid",  NULL};
static const char *const of_log[] = {"aten.log", "aten.log1p", NULL};
static const char *const of_both[] = {"aten.logsumexp",
                                      "aten.logaddexp",
                                      "aten._log_softmax",
                                      "aten.log_softmax",
                                      "aten._log_softmax_backward_data",
                                      "aten.log_sigmoid_forward",
                                      "aten.softplus",
                                      NULL};
static const char *const of_max[] = {"aten.amax", "aten.max", "aten.maximum", "aten.logaddexp",
                                     NULL};

static bool is_among(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (!strcmp(*names, name))
            return true;
    return false;
}

static bool is_attention(const char *name)
{
    static const char prefix[] = "aten._scaled_dot_product_";

    return !strncmp(name, prefix, strlen(prefix));
}

static void look_at(const struct tc_plan_op *op, struct met *met)
{
    const char *name = op->rule->name;
    const bool has_both = is_attention(name) || is_among(of_both, name);

    met->has_exp |= has_both || is_among(of_exp, name);
    met->has_log |= has_both || is_among(of_log, name);
    met->has_max |= is_among(of_max, name) ||
                    (op->rule->kind == TC_RULE_COLLECTIVE && tc_collective_chooses(op));
}

static void look_at_all(const struct tc_plan_set *set, struct met *met)
{
    for (uint32_t r = 0; r < set->world; r++) {
        const struct tc_plan_rank *rank = &set->ranks[r];
        for (size_t i = 0; rank->like < 0 && i < rank->program->ops.n; i++)
            look_at(&rank->program->ops.items[i], met);
    }
}

enum tc_laws_mode tc_judge_last_laws(const struct judge *j)
{
    struct met met = {0};

    look_at_all(j->single, &met);
    look_at_all(j->parallel, &met);
    if (!met.has_exp || (!met.has_log && !met.has_max))
        return TC_LAWS_NONE;
    return met.has_max ? TC_LAWS_ORDERED : TC_LAWS_FREE;
}
