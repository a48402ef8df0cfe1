/* SPDX-License-Identifier: Apache-2.0 */
/*
 * departure.c - back from a wrong result to the operator at which the job departs
 *
 * The job departs at an operator whose value relates to no value of the single-device job, while
 * all its operands do. Of several the surest wins, then the earliest. What the micro-batches of
 * one line make counts as one value.
 */
#include "plan/explain_state.h"

#include <string.h>

#include "base/hash.h"
#include "plan/collective.h"
#include "plan/eval.h"

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
        node->relation = tc_relate(&s->index, &s->grid, node->parts, &s->program->ops.items[op]);
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

/* Equal for the micro-batches of one line. */
static uint64_t part_key(const struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    const struct tc_plan_op *o = &s->program->ops.items[op];

    return tc_hash_mix(tc_hash64(o->name, strlen(o->name), r->value),
                       tc_hash64(o->src, strlen(o->src), 0), r->value);
}

/* Micro-batches cover a value one after the other, so all that is computed is looked at. */
static void relate_all(struct tc_story *s)
{
    for (uint32_t i = 0; i < s->program->ops.n && !s->is_all_related; i++) {
        struct tc_story_node *node = &s->nodes[i];
        if (!node->parts)
            continue;
        const struct tc_related *r = tc_story_relation(s, i);
        if (r->is_part)
            *tc_map_at(&s->parts, part_key(s, i, r), &(bool){0}) += r->n;
        if (r->is_found)
            continue;
        for (uint32_t k = 0; k < node->n_deps; k++) {
            const struct tc_story_node *dep = &s->nodes[node->deps[k]];
            node->is_incomplete =
                node->is_incomplete || dep->is_incomplete || dep->relation.is_part;
        }
    }
    s->is_all_related = true;
}

/* A collective may leave shards in any order; what is computed from the whole may not. */
static bool is_in_order(const struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    const struct tc_plan_op *o = &s->program->ops.items[op];

    if (tc_story_is_reversed(s, r))
        return false;
    return !r->is_mixed || o->rule->kind == TC_RULE_COLLECTIVE ||
           s->nodes[op].parts[0].t->n_dims != s->index.values.items[r->value].n_dims;
}

/* What all micro-batches have of a value. The same line may make it several times. */
static bool is_covered(struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    uint64_t n = 0;

    relate_all(s);
    tc_map_get(&s->parts, part_key(s, op, r), &n);
    return n >= s->index.values.items[r->value].n;
}

static bool is_related(struct tc_story *s, uint32_t op)
{
    const struct tc_related *r = tc_story_relation(s, op);

    return r->is_found && is_in_order(s, op, r) && (!r->is_part || is_covered(s, op, r));
}

/* Of the value on all ranks. */
static uint64_t hash_value(const struct tc_story *s, uint32_t op)
{
    uint64_t hash = 1;

    for (uint32_t r = 0; r < s->grid.n; r++) {
        const struct tc_part *part = &s->nodes[op].parts[r];
        for (int64_t i = 0; i < part->t->numel; i++)
            hash = tc_hash_mix(hash, part->p[i].re, part->p[i].im);
    }
    return hash;
}

/* What is computed again is as right as it was the first time. */
static void clear_equal(struct tc_story *s)
{
    struct tc_map known = TC_MAP_INIT;
    uint64_t op;

    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < s->program->ops.n; i++) {
            if (!tc_story_has_all(s, s->nodes[i].parts) || (pass == 0 && !s->cleared[i]))
                continue;
            uint64_t key = hash_value(s, i);
            if (pass == 0)
                tc_map_put(&known, key, i);
            else if (tc_map_get(&known, key, &op))
                s->cleared[i] = 1;
        }
    tc_map_release(&known);
}

/* A byte for each operator: is a value made of it that is just that of one device? What lies on the
 * way to one, as the blocks of a ring do, relates to nothing and is right. */
static const uint8_t *find_cleared(struct tc_story *s)
{
    if (s->cleared)
        return s->cleared;
    s->cleared = tc_arena_zalloc(&s->arena, s->program->ops.n + 1);
    for (uint32_t i = (uint32_t)s->program->ops.n; i-- > 0;) {
        const struct tc_related *r = s->nodes[i].parts ? tc_story_relation(s, i) : NULL;
        bool is_right = s->cleared[i] || (r && is_related(s, i) && !r->is_zero && r->num == r->den);
        for (uint32_t k = 0; is_right && k < s->nodes[i].n_deps; k++)
            s->cleared[s->nodes[i].deps[k]] = 1;
    }
    clear_equal(s);
    return s->cleared;
}

/* What depends on nothing is as it was written: masks, zeros. */
static bool is_good(struct tc_story *s, uint32_t op)
{
    const struct tc_plan_op *o = &s->program->ops.items[op];

    if (!s->nodes[op].n_deps && !o->draws && !o->n_reads)
        return true;
    return is_related(s, op) || find_cleared(s)[op] ||
           (s->skips_running && tc_story_is_running(s, op));
}

static bool is_part_of_sum(struct tc_story *s, uint32_t op)
{
    return tc_relate_is_partial(tc_story_relation(s, op), &s->grid) ||
           (s->skips_running && tc_story_is_running_part(s, op));
}

/* Of a sum of what one line makes, as of micro-batches, the last of these; the operator itself: it
 * is none. */
static uint32_t term_of(const struct tc_story *s, uint32_t op)
{
    const struct tc_story_node *node = &s->nodes[op];
    const struct tc_plan_op *ops = s->program->ops.items;
    uint32_t last = op;

    for (uint32_t k = 0; k < node->n_deps; k++) {
        const struct tc_plan_op *dep = &ops[node->deps[k]];
        if (node->deps[k] >= op)
            return op;
        if (strcmp(dep->src, ops[op].src) != 0)
            last = last == op || node->deps[k] > last ? node->deps[k] : last;
    }
    return last != op && node->n_deps > 1 && tc_story_is_sum(s, op) ? last : op;
}

static bool shares_partial(const struct tc_story *s, const struct tc_related *a,
                           const struct tc_related *b)
{
    for (unsigned k = 0; k < s->grid.n_axes; k++)
        if (b->is_found && a->axes[k].kind == TC_PARTIAL && b->axes[k].kind == TC_PARTIAL)
            return true;
    return false;
}

/* What the sum was before this operator; the operator itself: there it was split. */
static uint32_t split_before(struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        uint32_t dep = s->nodes[op].deps[k];
        if (dep < op && shares_partial(s, r, tc_story_relation(s, dep)))
            return dep;
    }
    return op;
}

uint32_t tc_story_split(struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    for (uint32_t before; (before = split_before(s, op, r)) != op;)
        op = before;
    return op;
}

uint32_t tc_story_origin(struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    return term_of(s, tc_story_split(s, op, r));
}

uint32_t tc_story_way(struct tc_story *s, uint32_t op, const struct tc_related *r, uint32_t *way,
                      uint32_t most)
{
    uint32_t n = 0;

    for (uint32_t before; (before = split_before(s, op, r)) != op && n < most; op = before)
        if (!tc_story_is_in_single(s, op))
            way[n++] = op;
    return n;
}

bool tc_story_is_odd_multiple(struct tc_story *s, uint32_t op)
{
    const struct tc_related *r = tc_story_relation(s, op);

    return r->is_found && !r->is_zero && (r->num != 1 || r->den != 1) &&
           !tc_story_factor_is_trusted(s, op);
}

static bool has_odd_multiple(struct tc_story *s, uint32_t op)
{
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++)
        if (tc_story_is_odd_multiple(s, s->nodes[op].deps[k]))
            return true;
    return false;
}

/* A table of which each rank has some numbers, and 0 for all others, is a sum by its making. A
 * factor beside it says more. */
static bool is_sum_by_making(struct tc_story *s, uint32_t op, uint32_t dep)
{
    return s->nodes[dep].is_constant && has_odd_multiple(s, op);
}

static bool is_sum_over(const struct tc_story *s, const struct tc_plan_rank *rank,
                        const struct tc_plan_op *op, const struct tc_related *r)
{
    int64_t group = tc_collective_group(op);

    if (op->rule->kind != TC_RULE_COLLECTIVE || group < 0 || !strstr(op->name, "reduce"))
        return false;
    uint32_t number = rank->groups[group];
    for (unsigned a = 0; a < s->grid.n_axes; a++)
        for (size_t i = 0; r->axes[a].kind == TC_PARTIAL && i < rank->mesh.n; i++)
            if (rank->mesh.items[i].group == number &&
                !strcmp(tc_strtab_text(s->parallel->names, rank->mesh.items[i].name),
                        s->grid.names[a]))
                return true;
    return false;
}

static bool writes_result(const struct tc_plan_rank *rank, const struct tc_plan_op *op)
{
    const struct tc_plan_tensor *t = op->reads[0];

    if (op->n_outs != 1 || !op->outs[0] || op->outs[0]->storage != t->storage)
        return false;
    for (size_t i = 0; i < rank->results.n; i++)
        if (rank->results.items[i].tensor.storage == t->storage &&
            rank->results.items[i].tensor.numel == t->numel)
            return true;
    return false;
}

/* Behind the backward pass; else in a hook of it, of what is a result. */
static const struct tc_plan_op *sum_on(const struct tc_story *s, const struct tc_plan_rank *rank,
                                       const struct tc_related *r)
{
    const tc_plan_ops *ops = &rank->program->ops;
    const struct tc_plan_op *behind = NULL, *hook = NULL;
    bool is_behind = true;

    for (size_t i = ops->n; i-- > 0;) {
        const struct tc_plan_op *op = &ops->items[i];
        is_behind = is_behind && !*op->node;
        if (!op->n_reads || op->reads[0]->numel < 2 || !is_sum_over(s, rank, op, r))
            continue;
        if (is_behind)
            behind = op;
        else if (*op->node && writes_result(rank, op))
            hook = op;
    }
    return behind ? behind : hook;
}

const struct tc_plan_op *tc_story_sum_of_others(const struct tc_story *s, uint32_t op,
                                                const struct tc_related *r)
{
    const struct tc_plan_op *found = NULL;

    if (!*s->program->ops.items[op].node)
        return NULL;
    found = sum_on(s, s->rank, r);
    for (uint32_t k = 0; k < s->parallel->world && !found; k++)
        if (s->parallel->ranks[k].like < 0)
            found = sum_on(s, &s->parallel->ranks[k], r);
    return found;
}

/* How sure an operator is the one: 3 if it uses a part of a sum, 2 if its operands are whole, 1 if
 * they are those of a micro-batch; 0: it is not, as an operand is wrong. */
static int front(struct tc_story *s, uint32_t op, uint32_t start, uint32_t *partial)
{
    const struct tc_story_node *node = &s->nodes[op];
    bool is_front = true;

    *partial = TC_NO_OP;
    if (find_cleared(s)[op] || (s->skips_running && op != start && tc_story_is_running(s, op)))
        return 0;
    for (uint32_t k = 0; k < node->n_deps; k++) {
        if (!is_good(s, node->deps[k]))
            is_front = false;
        else if (is_part_of_sum(s, node->deps[k]) && !is_sum_by_making(s, op, node->deps[k]))
            *partial = node->deps[k];
    }
    if (!is_front)
        return 0;
    return *partial != TC_NO_OP ? 3 : node->is_incomplete ? 1 : 2;
}

/* Operators without a relation whose operands all have one; the surest first, then the earliest. */
static uint32_t surest(struct tc_story *s, uint32_t start, uint32_t *partial)
{
    TC_VEC(uint32_t) stack = {0};
    uint8_t *seen = tc_calloc(s->program->ops.n + 1, 1);
    uint32_t best = TC_NO_OP, culprit;
    int most = 0;

    *partial = TC_NO_OP;
    tc_vec_push(&stack, start);
    while (stack.n) {
        uint32_t op = stack.items[--stack.n];
        if (seen[op]++)
            continue;
        for (uint32_t k = 0; k < s->nodes[op].n_deps; k++)
            if (!is_good(s, s->nodes[op].deps[k]))
                tc_vec_push(&stack, s->nodes[op].deps[k]);
        int sure = front(s, op, start, &culprit);
        if (sure > most || (sure && sure == most && op < best)) {
            most = sure;
            best = op;
            *partial = culprit;
        }
    }
    tc_vec_release(&stack);
    tc_free(seen);
    return best;
}

static bool reads_running(struct tc_story *s, uint32_t op)
{
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++)
        if (tc_story_is_running(s, s->nodes[op].deps[k]))
            return true;
    return false;
}

/* What sums on their way are used for says more than where they begin. But of one that is summed
 * nobody knows whether it is right. */
uint32_t tc_story_departure(struct tc_story *s, uint32_t start, uint32_t *partial)
{
    s->skips_running = true;
    uint32_t op = surest(s, start, partial);
    if (op == TC_NO_OP ||
        (*partial == TC_NO_OP && reads_running(s, op) && tc_story_odd_behind(s, op) == TC_NO_OP)) {
        s->skips_running = false;
        op = surest(s, start, partial);
    }
    return op;
}
