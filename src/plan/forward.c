/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.c - the exchange between ranks whose gradient an operator of the backward makes
 *
 * A value that ranks have brought together has a gradient on each of them, and the sum of these
 * goes back. Where that sum is missing, the exchange in the forward is the line to look at:
 * autograd knows nothing of it, or its backward is wrong.
 */
#include "plan/explain_state.h"

#include <string.h>

#include "plan/rules.h"

#define MOST_MOVES 4 /* operators that only move numbers about, between the two */

static bool moves(const struct tc_plan_op *op)
{
    static const char *const names[] = {"aten.cat", "aten.clone", "aten.copy_", "aten.stack",
                                        "aten._to_copy"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(op->rule->name, names[i]))
            return true;
    return false;
}

/* Back from what an operator reads. */
static uint32_t exchange_before(const struct tc_plan_program *p, const struct tc_story_node *nodes,
                                uint32_t op, unsigned left)
{
    for (uint32_t k = 0; k < nodes[op].n_deps; k++) {
        uint32_t dep = nodes[op].deps[k], found = TC_NO_OP;
        const struct tc_plan_op *o = &p->ops.items[dep];
        if (dep >= op || *o->node)
            continue;
        if (o->rule->kind == TC_RULE_COLLECTIVE)
            return dep;
        if (left && moves(o))
            found = exchange_before(p, nodes, dep, left - 1);
        if (found != TC_NO_OP)
            return found;
    }
    return TC_NO_OP;
}

uint32_t tc_story_forward_exchange(const struct tc_plan_program *p,
                                   const struct tc_story_node *nodes, uint32_t op)
{
    const struct tc_plan_op *back = &p->ops.items[op];
    uint32_t found = TC_NO_OP;

    for (uint32_t i = 0; i < op && *back->node && found == TC_NO_OP; i++) {
        const struct tc_plan_op *o = &p->ops.items[i];
        if (!*o->node && !strcmp(o->src, back->src) && !strcmp(o->via, back->via))
            found = exchange_before(p, nodes, i, MOST_MOVES);
    }
    return found;
}

static bool has_backward(const struct tc_plan_program *p, const struct tc_plan_op *op)
{
    for (size_t i = 0; i < p->ops.n; i++)
        if (*p->ops.items[i].node && !strcmp(p->ops.items[i].src, op->src) &&
            !strcmp(p->ops.items[i].via, op->via))
            return true;
    return false;
}

uint32_t tc_story_unknown_exchange(const struct tc_story *s, uint32_t op)
{
    const tc_plan_ops *ops = &s->program->ops;
    uint8_t *left = tc_calloc(ops->n + 1, 1); /* how many operators further */
    uint32_t found = TC_NO_OP;

    for (uint32_t i = 0; i < op; i++) {
        const struct tc_plan_op *o = &ops->items[i];
        if (*o->node)
            continue;
        if (!strcmp(o->src, ops->items[op].src) && !strcmp(o->via, ops->items[op].via))
            left[i] = MOST_MOVES + 1;
        for (uint32_t k = 0; k < s->nodes[i].n_deps; k++)
            if (s->nodes[i].deps[k] < i && left[s->nodes[i].deps[k]] > left[i] + 1)
                left[i] = (uint8_t)(left[s->nodes[i].deps[k]] - 1);
        if (left[i] && o->rule->kind == TC_RULE_COLLECTIVE && !has_backward(s->program, o))
            found = i;
    }
    tc_free(left);
    return found;
}
