/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running.c - sums over ranks on their way: more is added, pieces are copied, ranks sum them later
 *
 * A norm adds squares of gradients on each rank, and all ranks add up what they have. What stands
 * between relates to nothing on one device where that adds in another order; it is no fault. Such a
 * value is known by what it is made of: it is a sum of parts of sums, of the same axes and with the
 * same factor, or a copy of elements of one, the same on all ranks. What one number that all ranks
 * have makes of such a sum is on its way, too. The job departs where a part is used for more.
 */
#include "plan/explain_state.h"

#include "base/hash.h"
#include "base/map.h"

enum {
    UNKNOWN,
    NEVER,
    RUNS
};

/* Is it a single-device value, the whole of it? */
static bool is_known(struct tc_story *s, uint32_t op)
{
    const struct tc_related *r = tc_story_relation(s, op);

    return r->is_found && !r->is_part && !r->is_mixed;
}

/* Axes over which a value is a part of a sum; a bit for each. */
static unsigned axes_of(struct tc_story *s, uint32_t op)
{
    const struct tc_related *r = tc_story_relation(s, op);
    unsigned axes = 0;

    for (unsigned a = 0; a < s->grid.n_axes; a++)
        axes |= r->axes[a].kind == TC_PARTIAL ? 1u << a : 0;
    return is_known(s, op) ? axes : s->nodes[op].running_axes;
}

static bool is_zero(struct tc_story *s, uint32_t op)
{
    const struct tc_related *r = tc_story_relation(s, op);

    return r->is_found && r->is_zero;
}

static bool is_placed(struct tc_story *s, uint32_t op)
{
    return is_known(s, op) || tc_story_is_running(s, op);
}

/* All of one factor: what is on its way has 1. */
static bool has_factor_of(struct tc_story *s, uint32_t a, uint32_t b)
{
    const struct tc_related *x = tc_story_relation(s, a), *y = tc_story_relation(s, b);

    return x->is_found && y->is_found ? x->num * y->den == y->num * x->den : true;
}

/* Of a sum: are all summands parts of sums over the same axes? */
static bool are_summands_alike(struct tc_story *s, uint32_t op, unsigned *axes)
{
    const struct tc_story_node *node = &s->nodes[op];
    uint32_t first = TC_NO_OP;

    for (uint32_t k = 0; k < node->n_deps; k++) {
        uint32_t dep = node->deps[k];
        if (!is_placed(s, dep))
            return false;
        if (is_zero(s, dep))
            continue;
        if (first != TC_NO_OP && (axes_of(s, dep) != *axes || !has_factor_of(s, dep, first)))
            return false;
        first = dep;
        *axes = axes_of(s, dep);
    }
    return first != TC_NO_OP;
}

/* Of an element on all ranks. */
static uint64_t key_of(const struct tc_story *s, const struct tc_part *parts, int64_t i)
{
    uint64_t key = 1;

    for (uint32_t r = 0; r < s->grid.n; r++)
        key = tc_hash_mix(key, parts[r].p[i].re, parts[r].p[i].im);
    return key;
}

static bool are_as_long(const struct tc_story *s, const struct tc_part *parts)
{
    for (uint32_t r = 1; r < s->grid.n; r++)
        if (parts[r].t->numel != parts[0].t->numel)
            return false;
    return true;
}

/* Do the elements of a value lie in another one, on all ranks in the same places? */
static bool are_elements_of(const struct tc_story *s, uint32_t op, uint32_t dep)
{
    const struct tc_part *is = s->nodes[op].parts, *of = s->nodes[dep].parts;
    struct tc_map places = TC_MAP_INIT;
    bool fits = are_as_long(s, is) && are_as_long(s, of);
    uint64_t at;

    for (int64_t i = 0; i < of[0].t->numel && fits; i++)
        tc_map_put(&places, key_of(s, of, i), (uint64_t)i);
    for (int64_t i = 0; i < is[0].t->numel && fits; i++)
        fits = tc_map_get(&places, key_of(s, is, i), &at);
    tc_map_release(&places);
    return fits;
}

static bool is_one_number(const struct tc_story *s, uint32_t op)
{
    const struct tc_part *parts = s->nodes[op].parts;

    for (uint32_t r = 0; r < s->grid.n; r++)
        if (parts[r].t->numel != 1 || !tc_el_same(parts[r].p[0], parts[0].p[0]))
            return false;
    return true;
}

/* A number that all ranks make of numbers that all ranks have. */
static bool is_made_of_numbers(struct tc_story *s, uint32_t op)
{
    const struct tc_story_node *node = &s->nodes[op];

    if (!is_one_number(s, op))
        return false;
    for (uint32_t k = 0; k < node->n_deps; k++)
        if (!tc_story_has_all(s, s->nodes[node->deps[k]].parts) ||
            !is_one_number(s, node->deps[k]) || axes_of(s, node->deps[k]) ||
            !is_placed(s, node->deps[k]))
            return false;
    return true;
}

static bool runs(struct tc_story *s, uint32_t op, unsigned *axes)
{
    const struct tc_story_node *node = &s->nodes[op];
    unsigned axis;

    if (!tc_story_has_all(s, node->parts) || !node->n_deps || node->parts[0].t->numel < 1)
        return false;
    for (uint32_t k = 0; k < node->n_deps; k++)
        if (node->deps[k] >= op || !tc_story_has_all(s, s->nodes[node->deps[k]].parts))
            return false;
    if (node->n_deps > 1 && tc_story_is_sum(s, op))
        return are_summands_alike(s, op, axes);
    if (node->n_deps == 1 && is_placed(s, node->deps[0])) {
        *axes = axes_of(s, node->deps[0]);
        if (*axes && are_elements_of(s, op, node->deps[0]))
            return true;
        if (tc_story_sums_over(s, op, &axis) && (*axes & (1u << axis))) {
            *axes &= ~(1u << axis);
            return true;
        }
    }
    *axes = 0;
    return is_made_of_numbers(s, op);
}

bool tc_story_is_running(struct tc_story *s, uint32_t op)
{
    struct tc_story_node *node = &s->nodes[op];

    if (node->running == UNKNOWN) {
        unsigned axes = 0;
        node->running = NEVER;
        if (!is_known(s, op) && runs(s, op, &axes)) {
            node->running = RUNS;
            node->running_axes = axes;
        }
    }
    return node->running == RUNS;
}

bool tc_story_is_running_part(struct tc_story *s, uint32_t op)
{
    return tc_story_is_running(s, op) && s->nodes[op].running_axes;
}

uint32_t tc_story_odd_behind(struct tc_story *s, uint32_t op)
{
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        uint32_t dep = s->nodes[op].deps[k], found = TC_NO_OP;
        if (tc_story_is_odd_multiple(s, dep))
            return dep;
        if (tc_story_is_running(s, dep))
            found = tc_story_odd_behind(s, dep);
        if (found != TC_NO_OP)
            return found;
    }
    return TC_NO_OP;
}
