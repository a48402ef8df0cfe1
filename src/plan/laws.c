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

/* Is the name among those that a text has, separated by blanks? */
static bool is_among(const char *names, const char *name)
{
    size_t size = strlen(name);

    for (const char *p = strstr(names, name); p; p = strstr(p + 1, name))
        if ((p == names || p[-1] == ' ') && (p[size] == ' ' || !p[size]))
            return true;
    return false;
}

static void look_at(const struct tc_plan_op *op, struct met *met)
{
    const char *name = op->rule->name;
    bool is_attention = !strncmp(name, "aten._scaled_dot_product_", 25);

    if (is_attention || is_among("aten.logsumexp aten.logaddexp aten._log_softmax aten.log_softmax "
                                 "aten._log_softmax_backward_data aten.log_sigmoid_forward "
                                 "aten.softplus",
                                 name))
        met->has_exp = met->has_log = true;
    if (is_among("aten.exp aten._softmax aten.softmax aten._safe_softmax aten.sigmoid", name))
        met->has_exp = true;
    if (is_among("aten.log aten.log1p", name))
        met->has_log = true;
    if (is_among("aten.amax aten.max aten.maximum aten.logaddexp", name) ||
        (op->rule->kind == TC_RULE_COLLECTIVE && tc_collective_chooses(op)))
        met->has_max = true;
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
