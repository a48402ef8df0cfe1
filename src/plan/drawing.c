/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawing.c - the operator at which the layouts part, beside its part in the single-device job
 *
 * The counterpart is the single job's operator of the same name that reads most of the same
 * values.
 */
#include "plan/explain_state.h"

#include <string.h>

#define MAX_INPUTS 6

static const char *name_of(struct tc_story *s, const struct tc_plan_op *op)
{
    return tc_arena_text(&s->verdict->arena, op->name, (size_t)tc_plan_short_name(op));
}

static const char *line_of(struct tc_story *s, const struct tc_plan_op *op)
{
    struct tc_str line = tc_plan_line_of(op);

    return tc_arena_text(&s->verdict->arena, line.text, line.size);
}

/* ---- the operator's part in the single-device job ------------------------------------------ */

static bool reads_value(const struct tc_story *s, uint32_t single, uint32_t value)
{
    const struct tc_story_node *node = &s->singles[single];

    for (uint32_t k = 0; k < node->n_deps; k++)
        if (s->first[node->deps[k]] == value)
            return true;
    return false;
}

static bool reads_init(const struct tc_story *s, uint32_t single, tc_sym name)
{
    const struct tc_story_node *node = &s->singles[single];

    for (uint32_t k = 0; k < node->n_inits; k++)
        if (node->inits[k]->name == name)
            return true;
    return false;
}

static bool is_same_operator(const struct tc_plan_op *a, const struct tc_plan_op *b)
{
    int n = tc_plan_short_name(a);

    return n == tc_plan_short_name(b) && !memcmp(a->name, b->name, (size_t)n);
}

/* Of the single job's operators of this name the one that reads most of the same values. */
static uint32_t counterpart(struct tc_story *s, uint32_t op)
{
    const struct tc_plan_program *single = s->single->ranks[0].program;
    const struct tc_story_node *node = &s->nodes[op];
    uint32_t best = TC_NO_OP, most = 0;

    for (uint32_t i = 0; i < single->ops.n; i++) {
        uint32_t same = 0;
        if (!is_same_operator(&single->ops.items[i], &s->program->ops.items[op]))
            continue;
        for (uint32_t k = 0; k < node->n_deps; k++) {
            const struct tc_related *r = tc_story_relation(s, node->deps[k]);
            same += r->is_found && !r->is_zero && reads_value(s, i, r->op);
        }
        for (uint32_t k = 0; k < node->n_inits; k++)
            same += reads_init(s, i, node->inits[k]->name);
        if (same > most) {
            most = same;
            best = i;
        }
    }
    return best;
}

/* Who uses the value of an operand on one device, if no operator like this one does. */
uint32_t tc_story_other_use(struct tc_story *s, uint32_t op, uint32_t dep)
{
    const struct tc_plan_program *single = s->single->ranks[0].program;
    const struct tc_related *r = tc_story_relation(s, dep);
    uint32_t found = TC_NO_OP;

    for (uint32_t i = 0; i < single->ops.n && r->is_found && !r->is_zero; i++) {
        if (r->op == TC_NO_OP || !reads_value(s, i, r->op))
            continue;
        if (is_same_operator(&single->ops.items[i], &s->program->ops.items[op]))
            return TC_NO_OP;
        found = found == TC_NO_OP ? i : found;
    }
    return found;
}

/* ---- values -------------------------------------------------------------------------------- */

static struct tc_plan_beside beside(struct tc_story *s, uint32_t op, uint32_t single)
{
    const struct tc_plan_op *o = &s->program->ops.items[op];
    struct tc_strbuf layout = TC_STRBUF_INIT;
    struct tc_plan_beside b = {.op = name_of(s, o), .src = line_of(s, o), .name = ""};

    tc_relate_describe(tc_story_relation(s, op), &s->grid, &layout);
    b.layout = tc_plan_keep(s->verdict, &layout);
    b.single_op = b.single_src = "";
    if (single != TC_NO_OP) {
        const struct tc_plan_op *of = &s->single->ranks[0].program->ops.items[single];
        b.single_op = name_of(s, of);
        b.single_src = line_of(s, of);
    }
    return b;
}

static struct tc_plan_beside operand(struct tc_story *s, uint32_t dep)
{
    const struct tc_related *r = tc_story_relation(s, dep);

    return beside(s, dep, r->is_found && !r->is_zero ? r->op : TC_NO_OP);
}

/* Its placement by its sizes: of which dimensions the rank has a part. */
static struct tc_plan_beside start(struct tc_story *s, const struct tc_plan_init *init)
{
    const struct tc_plan_place *place = &init->place;
    struct tc_strbuf layout = TC_STRBUF_INIT;
    bool is_block = place->flat < 0 && place->n_global == init->tensor.n_dims;

    for (uint32_t d = 0; d < place->n_global && is_block; d++)
        if (place->global[d] != init->tensor.sizes[d])
            tc_strbuf_addf(&layout, "%sShard(%u)", layout.size ? ", " : "", d);
    if (!layout.size)
        tc_strbuf_adds(&layout, is_block ? "Replicate" : "a part of its elements");
    return (struct tc_plan_beside){.op = "",
                                   .src = "",
                                   .name = tc_strtab_text(s->single->names, init->name),
                                   .layout = tc_plan_keep(s->verdict, &layout),
                                   .single_op = "",
                                   .single_src = ""};
}

struct tc_plan_drawing tc_story_draw(struct tc_story *s, const struct tc_plan_judged *judged,
                                     uint32_t op, uint32_t broken)
{
    const struct tc_story_node *node = &s->nodes[op];
    const struct tc_related *r = tc_story_relation(s, op);
    struct tc_plan_beside *inputs =
        tc_arena_alloc(&s->verdict->arena, MAX_INPUTS * sizeof(*inputs));
    struct tc_strbuf result = TC_STRBUF_INIT;
    struct tc_plan_drawing d = {.inputs = inputs};

    for (uint32_t k = 0; k < node->n_deps && d.n_inputs < MAX_INPUTS; k++) {
        inputs[d.n_inputs] = operand(s, node->deps[k]);
        inputs[d.n_inputs++].is_broken = node->deps[k] == broken;
    }
    for (uint32_t k = 0; k < node->n_inits && d.n_inputs < MAX_INPUTS; k++)
        inputs[d.n_inputs++] = start(s, node->inits[k]);
    uint32_t single = counterpart(s, op);
    d.value = beside(s, op, single == TC_NO_OP && r->is_found && !r->is_zero ? r->op : single);
    d.value.is_broken = broken == TC_NO_OP;
    tc_plan_describe_result(s->single, judged->name, &result);
    d.result = tc_plan_keep(s->verdict, &result);
    return d;
}
