/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted.c - numbers that ranks count together, beside those that one device reads in their place
 *
 * A mean divides by a count of tokens. If ranks sum theirs over too many ranks, or over too few,
 * gradients have a factor, and the sum of the counts is its cause, not the division.
 */
#include "plan/explain_state.h"

#include <math.h>
#include <string.h>

/* One number, the same on all ranks, of constants that ranks exchange. */
static bool is_counted(const struct tc_story *s, uint32_t op)
{
    const struct tc_story_node *node = &s->nodes[op];

    if (!node->is_constant || !s->program->ops.items[op].n_reads ||
        !tc_story_has_all(s, node->parts) || node->parts[0].t->numel != 1)
        return false;
    for (uint32_t r = 1; r < s->grid.n; r++)
        if (!tc_el_same(node->parts[r].p[0], node->parts[0].p[0]))
            return false;
    return true;
}

/* The number at the place of an operand that one device has as a constant. */
static const tc_el *constant_of(const struct tc_plan_rank *rank, const struct tc_plan_tensor *t)
{
    for (size_t i = 0; i < rank->consts.n && t->numel == 1; i++)
        if (rank->consts.items[i].storage == t->storage && rank->consts.items[i].n == 1)
            return rank->consts.items[i].data;
    return NULL;
}

static bool is_same_operator(const struct tc_plan_op *a, const struct tc_plan_op *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->src, b->src) && !strcmp(a->node, b->node);
}

/* By what the number differs from that of one device, where an operator reads both. */
static bool differs(const struct tc_story *s, uint32_t number, uint32_t user, int64_t *num,
                    int64_t *den)
{
    const struct tc_plan_rank *single = &s->single->ranks[0];
    const struct tc_plan_op *op = &s->program->ops.items[user];
    tc_el is = s->nodes[number].parts[0].p[0];

    for (size_t i = 0; i < single->program->ops.n; i++) {
        const struct tc_plan_op *other = &single->program->ops.items[i];
        for (uint32_t k = 0; k < other->n_reads && is_same_operator(op, other); k++) {
            const tc_el *was = constant_of(single, other->reads[k]);
            if (was && !tc_el_same(*was, TC_EL_ZERO) &&
                tc_relate_ratio(tc_el_mul(is, tc_el_inv(*was)), num, den))
                return *num != *den;
        }
    }
    return false;
}

bool tc_story_is_counted(struct tc_story *s, uint32_t op, struct tc_counted *number)
{
    number->op = op;
    for (uint32_t i = op; op != TC_NO_OP && is_counted(s, op) && i < s->program->ops.n; i++)
        for (uint32_t k = 0; k < s->nodes[i].n_deps; k++) {
            number->reader = i;
            if (s->nodes[i].deps[k] == op && differs(s, op, i, &number->num, &number->den))
                return true;
        }
    return false;
}

bool tc_story_wrong_count(struct tc_story *s, const struct tc_related *r, struct tc_counted *number)
{
    double wrong = fabs((double)r->num / (double)r->den);

    for (uint32_t i = 0; i < s->program->ops.n; i++) {
        if (!tc_story_is_counted(s, i, number))
            continue;
        double by = fabs((double)number->num / (double)number->den);
        if (fabs(wrong - by) < 1e-9 * by || fabs(wrong * by - 1) < 1e-9)
            return true;
    }
    return false;
}
