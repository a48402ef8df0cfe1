/* SPDX-License-Identifier: Apache-2.0 */
/*
 * factor.c - where a value that is a multiple of the single-device value gets its factor
 *
 * A right job has factors, too: a loss that is multiplied by the ranks, and divided with the
 * gradients. So each operator is asked by what it multiplies, beside the single device, and of
 * several that which explains the factor of the result is the one.
 */
#include "plan/explain_state.h"

#include <math.h>
#include <string.h>

#define MAX_FACTOR  64
#define MAX_ORIGINS 16

/* Numbers of ranks and micro-batches; larger ones are chance, or sizes of tensors. */
static bool is_small(const struct tc_related *r)
{
    return r->is_found && !r->is_zero && r->num >= -MAX_FACTOR && r->num <= MAX_FACTOR &&
           r->den <= MAX_FACTOR;
}

static bool has_factor(const struct tc_related *r)
{
    return is_small(r) && (r->num != 1 || r->den != 1);
}

static bool is_equal(const struct tc_related *a, const struct tc_related *b)
{
    return a->num == b->num && a->den == b->den;
}

/* ---- where a factor begins ----------------------------------------------------------------- */

/* A power has its operand's factor as a power. */
static bool has_power(const struct tc_plan_op *op, const struct tc_related *r,
                      const struct tc_related *of)
{
    return !strncmp(op->name, "aten.pow.", 9) && r->num == of->num * of->num &&
           r->den == of->den * of->den;
}

/* Does an operand have the factor? What relates to nothing is looked through. */
static bool inherits(struct tc_story *s, uint32_t op, const struct tc_related *r, uint8_t *seen)
{
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        uint32_t dep = s->nodes[op].deps[k];
        const struct tc_related *of = tc_story_relation(s, dep);
        if (seen[dep]++)
            continue;
        if (of->is_found ? has_factor(of) &&
                               (is_equal(of, r) || has_power(&s->program->ops.items[op], r, of))
                         : inherits(s, dep, r, seen))
            return true;
    }
    return false;
}

/* The same line of another micro-batch. */
static bool is_listed(const struct tc_story *s, const uint32_t *ops, uint32_t n, uint32_t op)
{
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(s->program->ops.items[ops[k]].name, s->program->ops.items[op].name) &&
            !strcmp(s->program->ops.items[ops[k]].src, s->program->ops.items[op].src))
            return true;
    return false;
}

/* The operators from which a value may have its factor: back along operands that have one, or that
 * relate to nothing. A byte for each; the caller frees it. */
static uint8_t *find_reached(struct tc_story *s, uint32_t op)
{
    uint8_t *reached = tc_calloc(s->program->ops.n + 1, 1);

    reached[op] = 1;
    for (uint32_t i = op + 1; i-- > 0;)
        for (uint32_t k = 0; reached[i] && k < s->nodes[i].n_deps; k++) {
            uint32_t dep = s->nodes[i].deps[k];
            const struct tc_related *r = tc_story_relation(s, dep);
            reached[dep] = reached[dep] || !r->is_found || has_factor(r);
        }
    return reached;
}

uint32_t tc_story_factors(struct tc_story *s, uint32_t op, uint32_t *ops, uint32_t most)
{
    uint32_t n = 0, n_ops = (uint32_t)s->program->ops.n;
    uint8_t *seen = tc_malloc(n_ops + 1), *reached = find_reached(s, op);

    for (uint32_t i = 0; i <= op && n < most; i++) {
        memset(seen, 0, n_ops + 1);
        if (reached[i] && has_factor(tc_story_relation(s, i)) && !is_listed(s, ops, n, i) &&
            !inherits(s, i, tc_story_relation(s, i), seen))
            ops[n++] = i;
    }
    tc_free(seen);
    tc_free(reached);
    return n;
}

/* ---- which of them is wrong ---------------------------------------------------------------- */

/* A right result has the factors that it must have; but a gradient that is 0 is right with any. */
static bool tells_factors(const struct tc_story *s, const struct tc_plan_judged *judged)
{
    const struct tc_plan_judged *gradient = tc_plan_gradient_of(s->verdict, s->single, judged);
    bool is_zero = true;

    gradient = gradient ? gradient : judged;
    for (int64_t i = 0; i < gradient->n && is_zero; i++)
        is_zero = tc_el_same(gradient->values[0][i], TC_EL_ZERO);
    return !judged->is_wrong && !is_zero;
}

/* Where every result is wrong, as under a norm of all gradients, right gradients are known by their
 * values before that: what follows the backward pass and is just what one device has. */
static void trust_values(struct tc_story *s)
{
    for (uint32_t i = (uint32_t)s->program->ops.n; i-- > 0 && !*s->program->ops.items[i].node;) {
        const struct tc_related *r = s->nodes[i].parts ? tc_story_relation(s, i) : NULL;
        s->trusted[i] = r && r->is_found && !r->is_zero && !r->is_part && r->num == r->den &&
                        !tc_relate_is_partial(r, &s->grid) && s->nodes[i].parts[0].t->numel > 1;
    }
}

/* A byte for each operator: is a right result made of it? */
static const uint8_t *find_trusted(struct tc_story *s)
{
    uint64_t number;

    if (s->trusted)
        return s->trusted;
    s->trusted = tc_arena_zalloc(&s->arena, s->program->ops.n + 1);
    if (s->verdict->n_wrong == s->verdict->results.n)
        trust_values(s);
    for (size_t i = 0; i < s->rank->results.n; i++) {
        const struct tc_plan_result *r = &s->rank->results.items[i];
        if (!tc_map_get(&s->verdict->by_name, r->name, &number) ||
            !tells_factors(s, &s->verdict->results.items[number]))
            continue;
        uint32_t writer = tc_story_writer(s, r);
        if (writer != TC_NO_OP)
            s->trusted[writer] = 1;
    }
    for (size_t i = s->program->ops.n; i-- > 0;)
        for (uint32_t k = 0; s->trusted[i] && k < s->nodes[i].n_deps; k++)
            s->trusted[s->nodes[i].deps[k]] = 1;
    return s->trusted;
}

/* By what an operator multiplies: its factor over those of its operands. A sign is no matter. */
static double step_of(struct tc_story *s, uint32_t op)
{
    const struct tc_related *r = tc_story_relation(s, op);
    double step = (double)r->num / (double)r->den;

    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        const struct tc_related *of = tc_story_relation(s, s->nodes[op].deps[k]);
        if (!has_factor(of))
            continue;
        step *= (double)of->den / (double)of->num;
        break;
    }
    return fabs(step);
}

static bool is_about(double a, double b)
{
    return fabs(a - b) < 1e-9 * fabs(b);
}

bool tc_story_is_in_single(const struct tc_story *s, uint32_t op)
{
    const struct tc_plan_program *single = s->single->ranks[0].program;
    const struct tc_plan_op *o = &s->program->ops.items[op];

    for (size_t i = 0; i < single->ops.n; i++)
        if (!strcmp(single->ops.items[i].name, o->name) &&
            !strcmp(single->ops.items[i].src, o->src) &&
            !strcmp(single->ops.items[i].node, o->node))
            return true;
    return false;
}

/* The operand that is one number on each rank, made by an operator; TC_NO_OP: none. */
static uint32_t number_read(const struct tc_story *s, uint32_t op)
{
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        uint32_t dep = s->nodes[op].deps[k];
        const struct tc_story_node *node = &s->nodes[dep];
        if (dep < op && s->program->ops.items[dep].n_reads && node->parts && node->parts[0].p &&
            node->parts[0].t->numel == 1)
            return dep;
    }
    return TC_NO_OP;
}

static bool is_product_of_tensors(const struct tc_plan_op *op)
{
    return op->n_reads > 1 &&
           (!strncmp(op->name, "aten.mul.", 9) || !strncmp(op->name, "aten.div.", 9));
}

/* A number that all ranks have is known by nothing: whether it has a factor shows in the first
 * tensor that is made of it. Of the operators on the number it is one that one device does not run;
 * else that operator, or the number's last if it only multiplies by it. */
static uint32_t of_number(const struct tc_story *s, uint32_t op)
{
    uint32_t last = number_read(s, op);

    for (uint32_t at = last; at != TC_NO_OP; at = number_read(s, at))
        if (!tc_story_is_in_single(s, at))
            return at;
    return last != TC_NO_OP && is_product_of_tensors(&s->program->ops.items[op]) ? last : op;
}

uint32_t tc_story_factor_steps(struct tc_story *s, uint32_t op, uint32_t *ops, uint32_t most)
{
    uint32_t all[MAX_ORIGINS], n = tc_story_factors(s, op, all, MAX_ORIGINS), left = 0;
    const uint8_t *trusted = find_trusted(s);

    for (uint32_t k = 0; k < n && left < most; k++)
        if (!trusted[all[k]] && !is_about(step_of(s, all[k]), 1))
            ops[left++] = of_number(s, all[k]);
    return left;
}

/* That which multiplies by just what is too much; else the first that goes its way; else the
 * first. */
uint32_t tc_story_factor_origin(struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    uint32_t ops[MAX_ORIGINS], n = tc_story_factors(s, op, ops, MAX_ORIGINS), left = 0;
    double wrong = fabs((double)r->num / (double)r->den);
    const uint8_t *trusted = find_trusted(s);

    for (uint32_t k = 0; k < n; k++)
        if (!trusted[ops[k]] && !is_about(step_of(s, ops[k]), 1))
            ops[left++] = ops[k];
    for (uint32_t k = 0; k < left; k++)
        if (is_about(step_of(s, ops[k]), wrong))
            return of_number(s, ops[k]);
    for (uint32_t k = 0; k < left; k++)
        if ((step_of(s, ops[k]) > 1) == (wrong > 1))
            return of_number(s, ops[k]);
    return left ? of_number(s, ops[0]) : op;
}

static bool is_scale(const struct tc_plan_op *op)
{
    return !strncmp(op->name, "aten.mul", 8) || !strncmp(op->name, "aten.div", 8);
}

static bool is_square(const struct tc_related *r, const struct tc_related *of)
{
    return r->num == of->num * of->num && r->den == of->den * of->den;
}

uint32_t tc_story_loses_factor(struct tc_story *s, const struct tc_related *r)
{
    const struct tc_plan_op *ops = s->program->ops.items;

    for (uint32_t i = (uint32_t)s->program->ops.n; i-- > 0 && !*ops[i].node;) {
        const struct tc_story_node *node = &s->nodes[i];
        if (!node->parts || node->parts[0].t->numel < 2 || !node->n_deps || !is_scale(&ops[i]))
            continue;
        const struct tc_related *is = tc_story_relation(s, i),
                                *was = tc_story_relation(s, node->deps[0]);
        if (is->is_found && !is->is_zero && is->num == is->den && has_factor(was) &&
            (is_equal(was, r) || is_square(r, was)))
            return i;
    }
    return TC_NO_OP;
}

uint32_t tc_story_loss(const struct tc_story *s)
{
    const tc_plan_ops *ops = &s->program->ops;
    uint32_t loss = TC_NO_OP;

    for (size_t i = 0; i < s->verdict->results.n; i++)
        if (tells_factors(s, &s->verdict->results.items[i]))
            return TC_NO_OP;
    for (uint32_t i = 0; i < ops->n && !*ops->items[i].node; i++)
        if (ops->items[i].n_reads && ops->items[i].n_outs && ops->items[i].outs[0] &&
            ops->items[i].outs[0]->numel == 1)
            loss = i;
    return loss;
}

/* ---- of summands with unlike factors, the odd one ------------------------------------------ */

static bool is_backward(const struct tc_story *s, uint32_t op)
{
    return *s->program->ops.items[op].node != '\0';
}

/* How many values of the backward pass, or of all else, have this factor. */
static uint32_t count_alike(struct tc_story *s, uint32_t op)
{
    const struct tc_related *r = tc_story_relation(s, op);
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->program->ops.n; i++)
        if (s->nodes[i].parts && is_backward(s, i) == is_backward(s, op)) {
            const struct tc_related *of = tc_story_relation(s, i);
            n += is_small(of) && is_equal(of, r);
        }
    return n;
}

/* Back to where the branch of a summand leaves what has the common factor. */
static uint32_t branch_start(struct tc_story *s, uint32_t op)
{
    for (bool moved = true; moved;) {
        const struct tc_related *r = tc_story_relation(s, op);
        moved = false;
        for (uint32_t k = 0; k < s->nodes[op].n_deps && !moved; k++) {
            uint32_t dep = s->nodes[op].deps[k];
            const struct tc_related *of = tc_story_relation(s, dep);
            moved = dep < op && is_backward(s, dep) && is_small(of) && is_equal(of, r);
            op = moved ? dep : op;
        }
    }
    return op;
}

/* A byte for each operator of the backward pass on which the operator depends. */
static void mark_backward(const struct tc_story *s, uint32_t op, uint8_t *marks)
{
    marks[op] = 1;
    for (uint32_t i = op + 1; i-- > 0;)
        for (uint32_t k = 0; marks[i] && k < s->nodes[i].n_deps; k++)
            if (s->nodes[i].deps[k] < i && is_backward(s, s->nodes[i].deps[k]))
                marks[s->nodes[i].deps[k]] = 1;
}

/* On the way of the odd summand, behind what other summands depend on, too: the last operator that
 * one device does not run; TC_NO_OP: none. */
static uint32_t own_line(const struct tc_story *s, uint32_t adds, uint32_t odd)
{
    uint8_t *own = tc_calloc(s->program->ops.n + 1, 1),
            *others = tc_calloc(s->program->ops.n + 1, 1);
    uint32_t found = TC_NO_OP;

    mark_backward(s, odd, own);
    for (uint32_t k = 0; k < s->nodes[adds].n_deps; k++)
        if (s->nodes[adds].deps[k] != odd)
            mark_backward(s, s->nodes[adds].deps[k], others);
    for (uint32_t i = odd + 1; i-- > 0 && found == TC_NO_OP;)
        if (own[i] && !others[i] && !tc_story_is_in_single(s, i))
            found = i;
    tc_free(own);
    tc_free(others);
    return found;
}

bool tc_story_factor_is_trusted(struct tc_story *s, uint32_t op)
{
    uint32_t ops[MAX_ORIGINS], n = tc_story_factors(s, op, ops, MAX_ORIGINS);
    const uint8_t *trusted = find_trusted(s);

    for (uint32_t k = 0; k < n; k++)
        if (!trusted[ops[k]])
            return false;
    return n > 0;
}

uint32_t tc_story_odd_of(struct tc_story *s, uint32_t op)
{
    uint32_t odd = op, fewest = UINT32_MAX;

    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        uint32_t dep = s->nodes[op].deps[k], n;
        if (!is_small(tc_story_relation(s, dep)) || tc_story_factor_is_trusted(s, dep) ||
            (n = count_alike(s, dep)) >= fewest)
            continue;
        fewest = n;
        odd = dep;
    }
    return odd;
}

uint32_t tc_story_odd_summand(struct tc_story *s, uint32_t op)
{
    uint32_t odd = tc_story_odd_of(s, op);

    if (odd == op)
        return op;
    const struct tc_related *r = tc_story_relation(s, odd);
    uint32_t origin = has_factor(r) ? tc_story_factor_origin(s, odd, r) : branch_start(s, odd);
    uint32_t own =
        is_backward(s, odd) && tc_story_is_in_single(s, origin) ? own_line(s, op, odd) : origin;
    return own == TC_NO_OP ? origin : own;
}
