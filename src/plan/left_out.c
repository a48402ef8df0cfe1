/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_out.c - what one device does and the parallel job never does, and what it does later
 *
 * The single job's operators whose values the parallel job never makes are searched, back along
 * autograd to the first of them, or forward to the next use of a value.
 */
#include "plan/explain_state.h"

#include <string.h>

#include "plan/rules.h"

/* Operators of the single job whose value the parallel job has: a byte for each. The caller frees
 * it. */
static uint8_t *find_known(struct tc_story *s)
{
    uint8_t *known = tc_calloc(s->single->ranks[0].program->ops.n + 1, 1);

    for (uint32_t i = 0; i < s->program->ops.n; i++) {
        if (!s->nodes[i].parts)
            continue;
        const struct tc_related *r = tc_story_relation(s, i);
        if (r->is_found && !r->is_zero && r->op != TC_NO_OP)
            known[r->op] = 1;
    }
    return known;
}

/* Back along operators of autograd that the job does not have. */
static uint32_t first_unknown(const struct tc_story *s, const uint8_t *known, uint32_t single)
{
    const struct tc_plan_op *ops = s->single->ranks[0].program->ops.items;

    for (bool moved = true; moved;) {
        const struct tc_story_node *node = &s->singles[single];
        moved = false;
        for (uint32_t k = 0; k < node->n_deps && !moved; k++) {
            uint32_t dep = node->deps[k];
            if (dep >= single || known[s->first[dep]] || !*ops[dep].node)
                continue;
            single = dep;
            moved = true;
        }
    }
    return single;
}

static bool adds(const struct tc_plan_op *op)
{
    return !strncmp(op->name, "aten.add.", 9) || !strncmp(op->name, "aten.add_.", 10);
}

static bool adds_backward(const struct tc_story *s, uint32_t single)
{
    const struct tc_plan_op *ops = s->single->ranks[0].program->ops.items;

    return single != TC_NO_OP && adds(&ops[single]) && *ops[single].node;
}

bool tc_story_is_short(struct tc_story *s, uint32_t op, uint32_t dep)
{
    return adds_backward(s, tc_story_other_use(s, op, dep));
}

uint32_t tc_story_left_out(struct tc_story *s, uint32_t op, uint32_t *user)
{
    uint8_t *known = find_known(s);
    uint32_t found = TC_NO_OP;

    for (uint32_t k = 0; k < s->nodes[op].n_deps && found == TC_NO_OP; k++) {
        uint32_t dep = s->nodes[op].deps[k];
        *user = tc_story_other_use(s, op, dep);
        if (!adds_backward(s, *user))
            continue;
        const struct tc_story_node *node = &s->singles[*user];
        for (uint32_t i = 0; i < node->n_deps && found == TC_NO_OP; i++)
            if (!known[s->first[node->deps[i]]])
                found = first_unknown(s, known, node->deps[i]);
    }
    tc_free(known);
    return found;
}

static bool scales(const struct tc_plan_op *op)
{
    return !strncmp(op->name, "aten.mul", 8) || !strncmp(op->name, "aten.div", 8);
}

uint32_t tc_story_next_use(struct tc_story *s, tc_sym result, uint32_t value)
{
    const struct tc_plan_rank *rank = &s->single->ranks[0];
    uint32_t n = (uint32_t)rank->program->ops.n, writer = TC_NO_OP;

    for (size_t i = 0; i < rank->results.n; i++)
        if (rank->results.items[i].name == result)
            for (uint32_t k = 0; k < n; k++)
                for (uint32_t o = 0; o < rank->program->ops.items[k].n_outs; o++)
                    if (rank->program->ops.items[k].outs[o] &&
                        rank->program->ops.items[k].outs[o]->storage ==
                            rank->results.items[i].tensor.storage)
                        writer = k;
    while (writer != TC_NO_OP && scales(&rank->program->ops.items[writer]) &&
           s->singles[writer].n_deps) {
        uint32_t before = s->singles[writer].deps[0];
        if (s->first[before] == value)
            return writer;
        if (before >= writer)
            break;
        writer = before;
    }
    return TC_NO_OP;
}

/* ---- what comes later ---------------------------------------------------------------------- */

static bool reads_as_much(const struct tc_plan_op *op, int64_t n)
{
    for (uint32_t k = 0; k < op->n_reads; k++)
        if (op->reads[k]->numel >= n)
            return true;
    return false;
}

/* Not the norm of all gradients, which is one number. */
bool tc_story_is_reduced_later(const struct tc_story *s, const struct tc_plan_result *r,
                               uint32_t op)
{
    size_t n = s->program->ops.n;
    uint8_t *depends = tc_calloc(n + 1, 1);
    bool found = false;

    depends[op] = 1;
    for (size_t i = (size_t)op + 1; i < n && !found && r->tensor.numel > 1; i++) {
        const struct tc_plan_op *later = &s->program->ops.items[i];
        for (uint32_t k = 0; k < s->nodes[i].n_deps; k++)
            depends[i] = depends[i] || depends[s->nodes[i].deps[k]];
        found = depends[i] && later->rule->kind == TC_RULE_COLLECTIVE &&
                reads_as_much(later, r->tensor.numel);
    }
    tc_free(depends);
    return found;
}

/* Does an operator of the backward pass follow? */
static bool is_before_end_of_backward(const struct tc_story *s, uint32_t op)
{
    for (size_t i = op; i < s->program->ops.n; i++)
        if (*s->program->ops.items[i].node)
            return true;
    return false;
}

uint32_t tc_story_later_exchange(const struct tc_story *s, uint32_t op)
{
    uint32_t n = (uint32_t)s->program->ops.n, found = TC_NO_OP;
    uint8_t *depends = tc_calloc(n + 1, 1);

    depends[op] = !is_before_end_of_backward(s, op);
    for (uint32_t i = op + 1; i < n && depends[op] && found == TC_NO_OP; i++) {
        for (uint32_t k = 0; k < s->nodes[i].n_deps; k++)
            depends[i] = depends[i] || depends[s->nodes[i].deps[k]];
        if (depends[i] && s->program->ops.items[i].rule->kind == TC_RULE_COLLECTIVE)
            found = i;
    }
    tc_free(depends);
    return found;
}
