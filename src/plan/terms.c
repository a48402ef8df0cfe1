/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terms.c - what a sum consists of, where its summands are not treated alike
 *
 * A gradient is a sum over micro-batches, and a norm one over parameters. Each link of such a sum
 * is known by its values: it is the sum of its operands, a multiple of its one operand, or the sum
 * of that over an axis. What no link explains is a term. Terms of one line of the script must have
 * the same factor, and be summed over the same axes.
 */
#include "plan/explain_state.h"

#include <string.h>

#define MAX_TERMS 256

enum kind {
    NO_LINK,
    SUM,
    MULTIPLE,
    REDUCTION
};

struct link {
    enum kind kind;
    int64_t num, den; /* MULTIPLE */
    unsigned axis;    /* REDUCTION */
};

struct term {
    uint32_t op;
    int64_t num, den; /* its factor in the sum */
    unsigned axes;    /* a bit for each over which it is summed later */
    uint32_t scale;   /* the first operator that multiplies it; TC_NO_OP */
    uint32_t reduces; /* and that sums it over ranks */
};

struct terms {
    struct term items[MAX_TERMS];
    uint32_t n;
    bool is_too_long;
};

/* ---- links --------------------------------------------------------------------------------- */

static bool has_values(const struct tc_story *s, uint32_t op, int64_t n)
{
    if (!tc_story_has_all(s, s->nodes[op].parts))
        return false;
    for (uint32_t r = 0; r < s->grid.n; r++)
        if (s->nodes[op].parts[r].t->numel != n)
            return false;
    return true;
}

static bool is_sum(const struct tc_story *s, uint32_t op, int64_t n)
{
    const struct tc_story_node *node = &s->nodes[op];

    for (uint32_t r = 0; r < s->grid.n; r++)
        for (int64_t i = 0; i < n; i++) {
            tc_el sum = TC_EL_ZERO;
            for (uint32_t k = 0; k < node->n_deps; k++)
                sum = tc_el_add(sum, s->nodes[node->deps[k]].parts[r].p[i]);
            if (!tc_el_same(sum, node->parts[r].p[i]))
                return false;
        }
    return true;
}

/* The factor is that of the first element that is not 0. */
static bool is_multiple(const struct tc_story *s, uint32_t op, int64_t n, struct link *link)
{
    const struct tc_part *is = s->nodes[op].parts, *of = s->nodes[s->nodes[op].deps[0]].parts;
    tc_el factor = TC_EL_ZERO;
    bool has_factor = false;

    for (uint32_t r = 0; r < s->grid.n; r++)
        for (int64_t i = 0; i < n; i++) {
            if (!has_factor && !tc_el_same(of[r].p[i], TC_EL_ZERO)) {
                factor = tc_el_mul(is[r].p[i], tc_el_inv(of[r].p[i]));
                has_factor = tc_relate_ratio(factor, &link->num, &link->den);
                if (!has_factor || !link->num)
                    return false;
            }
            if (!tc_el_same(tc_el_mul(of[r].p[i], factor), is[r].p[i]))
                return false;
        }
    return has_factor;
}

static uint32_t stride_of(const struct tc_grid *grid, unsigned axis)
{
    uint32_t stride = 1;

    for (unsigned a = axis + 1; a < grid->n_axes; a++)
        stride *= grid->sizes[a];
    return stride;
}

static bool is_summed_over(const struct tc_story *s, uint32_t op, int64_t n, unsigned axis)
{
    const struct tc_part *is = s->nodes[op].parts, *of = s->nodes[s->nodes[op].deps[0]].parts;
    uint32_t stride = stride_of(&s->grid, axis), size = s->grid.sizes[axis];

    for (uint32_t r = 0; r < s->grid.n; r++)
        for (int64_t i = 0; i < n; i++) {
            tc_el sum = TC_EL_ZERO;
            for (uint32_t k = 0, first = r - r / stride % size * stride; k < size; k++)
                sum = tc_el_add(sum, of[first + k * stride].p[i]);
            if (!tc_el_same(sum, is[r].p[i]))
                return false;
        }
    return true;
}

static struct link link_of(const struct tc_story *s, uint32_t op)
{
    const struct tc_story_node *node = &s->nodes[op];
    struct link link = {.kind = NO_LINK, .num = 1, .den = 1};
    int64_t n = node->parts && node->parts[0].t ? node->parts[0].t->numel : 0;

    if (!n || !node->n_deps || !has_values(s, op, n))
        return link;
    for (uint32_t k = 0; k < node->n_deps; k++)
        if (node->deps[k] >= op || !has_values(s, node->deps[k], n))
            return link;
    if (node->n_deps > 1) {
        link.kind = is_sum(s, op, n) ? SUM : NO_LINK;
        return link;
    }
    if (is_multiple(s, op, n, &link))
        link.kind = MULTIPLE;
    for (unsigned a = 0; a < s->grid.n_axes && link.kind == NO_LINK; a++)
        if (is_summed_over(s, op, n, a)) {
            link.kind = REDUCTION;
            link.axis = a;
        }
    return link;
}

bool tc_story_is_sum(const struct tc_story *s, uint32_t op)
{
    return link_of(s, op).kind == SUM;
}

bool tc_story_sums_over(const struct tc_story *s, uint32_t op, unsigned *axis)
{
    struct link link = link_of(s, op);

    *axis = link.axis;
    return link.kind == REDUCTION;
}

/* The last link of the sum that an operator is a part of. */
static uint32_t top_of(const struct tc_story *s, uint32_t op)
{
    for (uint32_t i = op + 1; i < s->program->ops.n; i++)
        for (uint32_t k = 0; k < s->nodes[i].n_deps; k++)
            if (s->nodes[i].deps[k] == op && link_of(s, i).kind != NO_LINK) {
                op = i;
                break;
            }
    return op;
}

/* ---- terms --------------------------------------------------------------------------------- */

static void add_terms(struct tc_story *s, struct term at, struct terms *terms)
{
    struct link link = link_of(s, at.op);
    const struct tc_story_node *node = &s->nodes[at.op];

    if (link.kind == NO_LINK || terms->is_too_long) {
        terms->is_too_long = terms->is_too_long || terms->n == MAX_TERMS;
        if (!terms->is_too_long)
            terms->items[terms->n++] = at;
        return;
    }
    at.num *= link.num;
    at.den *= link.den;
    terms->is_too_long = at.num > INT32_MAX || at.num < INT32_MIN || at.den > INT32_MAX;
    if (link.kind == MULTIPLE && link.num != link.den)
        at.scale = at.op;
    if (link.kind == REDUCTION) {
        at.axes |= 1u << link.axis;
        at.reduces = at.op;
    }
    for (uint32_t k = 0; k < node->n_deps && !terms->is_too_long; k++) {
        at.op = node->deps[k];
        add_terms(s, at, terms);
    }
}

static bool is_of_line(const struct tc_story *s, const struct term *a, const struct term *b)
{
    const struct tc_plan_op *x = &s->program->ops.items[a->op], *y = &s->program->ops.items[b->op];

    return !strcmp(x->name, y->name) && !strcmp(x->src, y->src) && !strcmp(x->node, y->node);
}

static bool is_treated_alike(const struct term *a, const struct term *b)
{
    return a->num * b->den == b->num * a->den && a->axes == b->axes;
}

/* What the terms of this one's line have together, all of them or those that are treated as it is,
 * as a multiple of a single-device value in the sum; 0: none. */
static double factor_of(struct tc_story *s, const struct terms *terms, const struct term *of,
                        bool all)
{
    struct tc_part *sums = tc_calloc(s->grid.n, sizeof(*sums));

    for (uint32_t r = 0; r < s->grid.n; r++) {
        int64_t n = s->nodes[of->op].parts[r].t->numel;
        tc_el *p = tc_malloc(((size_t)n + 1) * sizeof(*p));
        for (int64_t i = 0; i < n; i++)
            p[i] = TC_EL_ZERO;
        for (uint32_t k = 0; k < terms->n; k++)
            for (int64_t i = 0; i < n && is_of_line(s, &terms->items[k], of) &&
                                (all || is_treated_alike(&terms->items[k], of));
                 i++)
                p[i] = tc_el_add(p[i], s->nodes[terms->items[k].op].parts[r].p[i]);
        sums[r] = (struct tc_part){p, s->nodes[of->op].parts[r].t};
    }
    struct tc_related found = tc_relate(&s->index, &s->grid, sums, &s->program->ops.items[of->op]);
    for (uint32_t r = 0; r < s->grid.n; r++)
        tc_free((void *)(uintptr_t)sums[r].p);
    tc_free(sums);
    if (!found.is_found || found.is_zero || found.is_part || !of->num)
        return 0;
    return (double)found.num / (double)found.den * (double)of->num / (double)of->den;
}

/* Two terms of one line that are summed over other axes, or are other multiples. */
static bool are_unlike(struct tc_story *s, const struct terms *terms, const struct term *a,
                       const struct term *b, struct tc_unlike *unlike)
{
    if (!is_of_line(s, a, b) || is_treated_alike(a, b))
        return false;
    *unlike = (struct tc_unlike){.term = b->op, .axis = UINT32_MAX, .at = TC_NO_OP};
    for (unsigned x = 0; x < s->grid.n_axes; x++)
        if ((a->axes ^ b->axes) & (1u << x)) {
            unlike->axis = x;
            unlike->at = a->axes & (1u << x) ? a->reduces : b->reduces;
            return true;
        }
    unlike->at = a->scale != TC_NO_OP ? a->scale : b->scale;
    if (unlike->at == TC_NO_OP)
        return false;
    double x = factor_of(s, terms, a, false), y = factor_of(s, terms, b, false);
    if (x != 0 && y != 0)
        return x - y > 1e-9 || y - x > 1e-9;
    return factor_of(s, terms, a, true) != 0;
}

bool tc_story_find_unlike(struct tc_story *s, uint32_t op, struct tc_unlike *unlike)
{
    uint32_t top = top_of(s, op);
    struct terms terms = {.n = 0};
    bool found = false;

    add_terms(s, (struct term){top, 1, 1, 0, TC_NO_OP, TC_NO_OP}, &terms);
    for (uint32_t i = 1; i < terms.n && !terms.is_too_long && !found; i++)
        for (uint32_t k = 0; k < i && !found; k++)
            found = are_unlike(s, &terms, &terms.items[k], &terms.items[i], unlike);
    unlike->top = top;
    return found;
}

/* ---- what a number lacks ------------------------------------------------------------------- */

static bool adds(const struct tc_plan_op *op)
{
    return !strncmp(op->name, "aten.add.", 9) || !strncmp(op->name, "aten.add_.", 10);
}

/* On one device: the last sum that an operator is a part of. */
static uint32_t single_top(const struct tc_story *s, uint32_t op)
{
    const tc_plan_ops *ops = &s->single->ranks[0].program->ops;

    for (uint32_t i = op + 1; i < ops->n; i++)
        for (uint32_t k = 0; k < s->singles[i].n_deps && adds(&ops->items[i]); k++)
            if (s->singles[i].deps[k] == op) {
                op = i;
                break;
            }
    return op;
}

/* A byte for each operator of one device that made a term of this sum. */
static void mark_single_terms(const struct tc_story *s, uint32_t op, uint8_t *marks)
{
    const tc_plan_ops *ops = &s->single->ranks[0].program->ops;

    if (!adds(&ops->items[op])) {
        marks[s->first[op]] = 1;
        return;
    }
    for (uint32_t k = 0; k < s->singles[op].n_deps; k++)
        if (s->singles[op].deps[k] < op)
            mark_single_terms(s, s->singles[op].deps[k], marks);
}

/* The operator of one device that made the term; TC_NO_OP: it is none, or no whole one. */
static uint32_t single_of(struct tc_story *s, const struct term *t)
{
    const struct tc_related *r = tc_story_relation(s, t->op);
    bool is_whole = !tc_relate_is_partial(r, &s->grid) || t->axes;

    return r->is_found && !r->is_zero && r->num == r->den && is_whole ? r->op : TC_NO_OP;
}

/* The operator if it is a link of a sum; else an operand that is one. */
static uint32_t link_at(const struct tc_story *s, uint32_t op)
{
    if (link_of(s, op).kind != NO_LINK)
        return op;
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++)
        if (link_of(s, s->nodes[op].deps[k]).kind != NO_LINK)
            return s->nodes[op].deps[k];
    return op;
}

/* Takes the marks of the terms off; false if one has none. */
static bool take_marks(struct tc_story *s, const struct terms *terms, uint8_t *marks)
{
    for (uint32_t i = 0; i < terms->n; i++) {
        uint32_t of = single_of(s, &terms->items[i]);
        if (of == TC_NO_OP || !marks[of])
            return false;
        marks[of] = 0;
    }
    return true;
}

bool tc_story_lacks_terms(struct tc_story *s, uint32_t op, struct tc_lacking *lacking)
{
    uint32_t top = top_of(s, link_at(s, op)), n = (uint32_t)s->single->ranks[0].program->ops.n;
    struct terms terms = {.n = 0};

    if (!tc_story_has_all(s, s->nodes[top].parts) || s->nodes[top].parts[0].t->numel != 1)
        return false;
    add_terms(s, (struct term){top, 1, 1, 0, TC_NO_OP, TC_NO_OP}, &terms);
    uint32_t first = terms.n > 1 && !terms.is_too_long ? single_of(s, &terms.items[0]) : TC_NO_OP;
    if (first == TC_NO_OP)
        return false;
    uint8_t *marks = tc_calloc((size_t)n + 1, 1);
    mark_single_terms(s, single_top(s, first), marks);
    *lacking = (struct tc_lacking){.top = top, .n = terms.n};
    for (uint32_t i = 0; i < n; i++)
        lacking->n_single += marks[i];
    bool is_known = take_marks(s, &terms, marks);
    tc_free(marks);
    return is_known && lacking->n < lacking->n_single;
}
