/* SPDX-License-Identifier: Apache-2.0 */
/*
 * departure.c - back from a wrong result to the operator at which the job departs
 */
#include "plan/explain_state.h"

#include "base/banned.h"

bool tc_story_has_all(const struct tc_story *s, const struct tc_part *parts)
{
    for (uint32_t r = 0; r < s->grid.n; r++)
        if (!parts || !parts[r].p)
            return false;
    return true;
}

const struct tc_related *tc_story_relation(struct tc_story *s, uint32_t op)
{
    struct tc_story_node *node = &s->nodes[op];

    if (!node->is_related_known && tc_story_has_all(s, node->parts))
        node->relation = tc_relate(&s->index, &s->grid, node->parts);
    node->is_related_known = true;
    return &node->relation;
}

bool tc_story_is_reversed(const struct tc_story *s, const struct tc_related *r)
{
    for (unsigned a = 0; a < s->grid.n_axes && r->is_found; a++)
        if (r->axes[a].kind == TC_REVERSED)
            return true;
    return false;
}

/* What depends on nothing is as it was written: masks, zeros. */
static bool is_good(struct tc_story *s, uint32_t op)
{
    const struct tc_plan_op *o = &s->program->ops.items[op];
    const struct tc_related *r = tc_story_relation(s, op);

    if (!s->nodes[op].n_deps && !o->draws && !o->n_reads)
        return true;
    return r->is_found && !tc_story_is_reversed(s, r);
}

static bool shares_partial(const struct tc_story *s, const struct tc_related *a,
                           const struct tc_related *b)
{
    for (unsigned k = 0; k < s->grid.n_axes; k++)
        if (b->is_found && a->axes[k].kind == TC_PARTIAL && b->axes[k].kind == TC_PARTIAL)
            return true;
    return false;
}

/* Where the sum was split. */
uint32_t tc_story_origin(struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < s->nodes[op].n_deps && !moved; k++) {
            uint32_t dep = s->nodes[op].deps[k];
            if (dep < op && shares_partial(s, r, tc_story_relation(s, dep))) {
                op = dep;
                moved = true;
            }
        }
    }
    return op;
}

/* Operators without a relation whose operands all have one; the one with a partial operand first.
 */
uint32_t tc_story_departure(struct tc_story *s, uint32_t start, uint32_t *partial)
{
    TC_VEC(uint32_t) stack = {0};
    uint8_t *seen = tc_calloc(s->program->ops.n + 1, 1);
    uint32_t best = TC_NO_OP;

    *partial = TC_NO_OP;
    tc_vec_push(&stack, start);
    while (stack.n) {
        uint32_t op = stack.items[--stack.n], culprit = TC_NO_OP;
        bool is_front = true;
        if (seen[op]++)
            continue;
        for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
            uint32_t dep = s->nodes[op].deps[k];
            if (!is_good(s, dep)) {
                is_front = false;
                tc_vec_push(&stack, dep);
            } else if (tc_relate_is_partial(tc_story_relation(s, dep), &s->grid)) {
                culprit = dep;
            }
        }
        bool is_better = best == TC_NO_OP || (culprit != TC_NO_OP && *partial == TC_NO_OP) ||
                         ((culprit != TC_NO_OP) == (*partial != TC_NO_OP) && op < best);
        if (is_front && is_better) {
            best = op;
            *partial = culprit;
        }
    }
    tc_vec_release(&stack);
    tc_free(seen);
    return best;
}
