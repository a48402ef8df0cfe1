/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tell_factor.c - factors in words: where they come from, where others lose them
 *
 * A value that is a multiple of the single-device value, or summands with unlike factors, become a
 * finding at the operator that brings the factor, with a list of all that bring one.
 */
#include "plan/tell.h"

#include <string.h>

#define MAX_FACTORS 4
#define MAX_NUMBERS 8 /* operators on numbers, back from where a factor shows */

/* Where the factor of a value comes from: "times 4 from aten.div (train.py:51)" */
const char *tc_tell_factors(struct tc_story *s, uint32_t op)
{
    uint32_t ops[MAX_FACTORS], n = tc_story_factors(s, op, ops, MAX_FACTORS);
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (uint32_t k = 0; k < n; k++) {
        const struct tc_related *r = tc_story_relation(s, ops[k]);
        tc_strbuf_addf(&text, r->den == 1 ? "times %lld from " : "times %lld/%lld from ",
                       (long long)r->num, (long long)r->den);
        tc_tell_op(&text, &s->program->ops.items[ops[k]]);
        tc_strbuf_addc(&text, '\n');
    }
    return tc_plan_keep(s->verdict, &text);
}

/* "; or the loss has it, of aten.div (train.py:98)": where no right result tells otherwise. */
void tc_tell_loss(const struct tc_story *s, struct tc_strbuf *text)
{
    uint32_t loss = tc_story_loss(s);

    if (loss == TC_NO_OP)
        return;
    tc_strbuf_adds(text, "; or the loss has it, of ");
    tc_tell_op(text, &s->program->ops.items[loss]);
}

/* A number that all ranks have counted, if it explains the factor; else the operator that brings
 * it.
 */
uint32_t tc_tell_factor_origin(struct tc_story *s, uint32_t op, const struct tc_related *r)
{
    struct tc_counted number;

    return tc_story_wrong_count(s, r, &number) ? number.op : tc_story_factor_origin(s, op, r);
}

/* " (2 times the number that aten.div (train.py:107) reads on one device)" */
void tc_tell_number(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    struct tc_counted n;

    if (!tc_story_is_counted(s, op, &n))
        return;
    tc_strbuf_addf(text, n.den == 1 ? " (%lld times" : " (%lld/%lld times", (long long)n.num,
                   (long long)n.den);
    tc_strbuf_adds(text, " the number that ");
    tc_tell_op(text, &s->program->ops.items[n.reader]);
    tc_strbuf_adds(text, " reads on one device)");
}

/* The number that an operator multiplies or divides by, if Python gave it. */
static const double *number_of(const struct tc_plan_op *op, double *number)
{
    for (uint32_t k = 0; k < op->n_args; k++) {
        *number =
            op->args[k].kind == TC_PLAN_WHOLE ? (double)op->args[k].whole : op->args[k].number;
        if (op->args[k].kind == TC_PLAN_WHOLE || op->args[k].kind == TC_PLAN_NUMBER)
            return number;
    }
    return NULL;
}

static bool scales(const struct tc_plan_op *op)
{
    return !strncmp(op->name, "aten.mul", 8) || !strncmp(op->name, "aten.div", 8);
}

static bool is_like(const struct tc_plan_op *a, const struct tc_plan_op *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->src, b->src) && !strcmp(a->node, b->node);
}

/* Does one device multiply by another number there, the same time round? */
static bool scales_otherwise(const struct tc_story *s, const struct tc_plan_op *op, double *is,
                             double *was)
{
    const tc_plan_ops *ops = &s->single->ranks[0].program->ops;
    uint32_t turn = 0;

    *was = 0;
    if (!scales(op) || !number_of(op, is))
        return false;
    for (const struct tc_plan_op *o = s->program->ops.items; o < op; o++)
        turn += is_like(o, op);
    for (size_t i = 0; i < ops->n; i++)
        if (is_like(&ops->items[i], op) && !turn--)
            return number_of(&ops->items[i], was) && *is != *was;
    return false;
}

/* "; before it aten.mul (train.py:47) takes 48, and 192 on one device": on the way back along
 * numbers, from which no value tells by what they are too large. If all are those of one device,
 * one may be missing: the first line has them. */
static void add_numbers(struct tc_story *s, uint32_t at, struct tc_strbuf *text)
{
    const struct tc_plan_op *ops = s->program->ops.items;
    uint32_t nearest = TC_NO_OP, n_told = 0;
    double is, was;

    for (uint32_t op = at, n = 0; n < MAX_NUMBERS && s->nodes[op].n_deps; n++) {
        op = s->nodes[op].deps[0];
        if (!scales(&ops[op]) || op >= at)
            break;
        if (!strcmp(ops[op].src, ops[at].src))
            continue;
        nearest = nearest == TC_NO_OP ? op : nearest;
        if (!scales_otherwise(s, &ops[op], &is, &was))
            continue;
        tc_strbuf_adds(text, n_told++ ? ", " : "; before it ");
        tc_tell_op(text, &ops[op]);
        tc_strbuf_addf(text, " takes %g, and %g on one device", is, was);
        tc_tell_made(s, op, text);
    }
    if (n_told || nearest == TC_NO_OP)
        return;
    tc_strbuf_adds(text, "; or one is missing at ");
    tc_tell_op(text, &ops[nearest]);
}

/* "; other factors on its way are those of aten.mul (train.py:46), aten.div (train.py:47)": one
 * that should make up for another may be the one that is wrong. With the lines that chose them. */
void tc_tell_steps(struct tc_story *s, uint32_t value, uint32_t at, struct tc_strbuf *text)
{
    const struct tc_plan_op *ops = s->program->ops.items;
    uint32_t steps[MAX_FACTORS + 1], n = tc_story_factor_steps(s, value, steps, MAX_FACTORS),
                                     n_told = 0;
    const char *last = ops[at].src;

    for (uint32_t k = 0; k < n; k++) {
        if (!strcmp(ops[steps[k]].src, ops[at].src) || !strcmp(ops[steps[k]].src, last))
            continue;
        last = ops[steps[k]].src;
        tc_strbuf_adds(text, n_told++ ? ", " : "; other factors on its way are those of ");
        tc_tell_op(text, &ops[steps[k]]);
    }
    steps[n] = at;
    tc_tell_made_of(s, steps, n + 1, text);
    add_numbers(s, at, text);
}

/* An operator that adds: operands with unlike factors make a multiple of nothing. */
static bool adds(const struct tc_plan_op *op)
{
    static const char *const names[] = {"aten.add.", "aten.add_.",  "aten.sub.",
                                        "aten.cat.", "aten.stack.", "aten._foreach_add"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strncmp(op->name, names[i], strlen(names[i])))
            return true;
    return false;
}

bool tc_tell_has_unlike_factors(struct tc_story *s, uint32_t op)
{
    const struct tc_related *first = NULL;

    for (uint32_t k = 0; k < s->nodes[op].n_deps && adds(&s->program->ops.items[op]); k++) {
        const struct tc_related *r = tc_story_relation(s, s->nodes[op].deps[k]);
        if (!r->is_found || r->is_zero)
            continue;
        if (first && (first->num != r->num || first->den != r->den))
            return true;
        first = first ? first : r;
    }
    return false;
}

uint32_t tc_story_odd_operand(struct tc_story *s, uint32_t op)
{
    return tc_tell_has_unlike_factors(s, op) ? tc_story_odd_summand(s, op) : TC_NO_OP;
}

static bool is_multiple(struct tc_story *s, uint32_t op)
{
    const struct tc_related *r = tc_story_relation(s, op);

    return r->is_found && (r->num != 1 || r->den != 1);
}

/* The operand that is a multiple of the single-device value: a linear operator would bear it. */
uint32_t tc_tell_multiple_operand(struct tc_story *s, uint32_t op)
{
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++)
        if (is_multiple(s, s->nodes[op].deps[k]))
            return s->nodes[op].deps[k];
    return TC_NO_OP;
}

struct tc_plan_finding tc_tell_multiple(struct tc_story *s, const struct tc_plan_judged *judged,
                                        uint32_t op, uint32_t dep)
{
    const struct tc_related *r = tc_story_relation(s, dep);
    uint32_t at = tc_tell_factor_origin(s, dep, r);
    struct tc_plan_finding f = tc_tell_new(s, judged, at);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_addf(&text, " departs after %s: ", f.op);
    if (at == dep) {
        tc_strbuf_adds(&text, "its value");
    } else {
        tc_strbuf_adds(&text, "the value of ");
        tc_tell_op(&text, &s->program->ops.items[dep]);
    }
    tc_tell_number(s, at, &text);
    tc_strbuf_addf(&text, " is %lld", (long long)r->num);
    if (r->den != 1)
        tc_strbuf_addf(&text, "/%lld", (long long)r->den);
    tc_strbuf_adds(&text, " times the single-device value, and is used by ");
    tc_tell_op(&text, &s->program->ops.items[op]);
    if (!*s->program->ops.items[op].node)
        tc_tell_loss(s, &text);
    tc_tell_steps(s, dep, at, &text);
    f.kind = "factor";
    f.hint = "a factor that depends on the number of ranks, or on a local size";
    f.details = tc_tell_factors(s, dep);
    f.drawing = tc_story_draw(s, judged, op, dep);
    tc_tell_keep(s, &f, &text);
    return f;
}

/* "; others lose this factor at aten.div_ (train.py:106)" */
static void add_loser(struct tc_story *s, const struct tc_related *r, struct tc_strbuf *text)
{
    uint32_t loser = r->is_found && r->num != r->den ? tc_story_loses_factor(s, r) : TC_NO_OP;

    if (loser == TC_NO_OP)
        return;
    tc_strbuf_adds(text, "; others lose this factor at ");
    tc_tell_op(text, &s->program->ops.items[loser]);
}

struct tc_plan_finding tc_tell_unlike(struct tc_story *s, const struct tc_plan_judged *judged,
                                      uint32_t op)
{
    uint32_t odd = tc_story_odd_summand(s, op);
    struct tc_plan_finding f = tc_tell_new(s, judged, odd);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_addf(&text, " departs after %s: what ", f.op);
    tc_tell_op(&text, &s->program->ops.items[op]);
    tc_strbuf_adds(&text, " adds are different multiples of single-device values");
    tc_tell_steps(s, tc_story_odd_of(s, op), odd, &text);
    add_loser(s, tc_story_relation(s, is_multiple(s, odd) ? odd : tc_tell_multiple_operand(s, op)),
              &text);
    f.kind = "factor";
    f.hint = "one of them has a factor too many, or one too few";
    f.details = tc_tell_operands(s, op);
    f.drawing = tc_story_draw(s, judged, op, TC_NO_OP);
    tc_tell_keep(s, &f, &text);
    return f;
}
