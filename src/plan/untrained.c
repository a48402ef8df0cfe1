/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untrained.c - parameters that the step does not update
 *
 * An optimizer that was made before the model was sharded or wrapped has the tensors of that time.
 * What it updates is no result; the parameters that the job computes with stay as they are. The
 * capture names such tensors after the optimizer (docs/plan-format.md). Without them a parameter
 * whose gradient is wrong, too, is not told of here: the gradient tells more.
 */
#include <stdio.h>
#include <string.h>

#include "plan/judge.h"

bool tc_judge_is_of_optimizer_alone(const struct judge *j, tc_sym name)
{
    unsigned optimizer, n;
    char more;

    return !tc_judged_of(j->verdict, name) &&
           sscanf(tc_strtab_text(j->single->names, name), "optimizer%u.%u%c", &optimizer, &n,
                  &more) == 2;
}

/* A byte for each storage that an operator writes. */
static uint8_t *mark_written(const struct tc_plan_program *p)
{
    uint8_t *marks = tc_calloc(p->n_slots + 1, 1);

    for (size_t i = 0; i < p->ops.n; i++)
        for (uint32_t k = 0; k < p->ops.items[i].n_outs; k++)
            if (p->ops.items[i].outs[k])
                marks[p->ops.items[i].outs[k]->storage] = 1;
    return marks;
}

/* What nothing touches has no slot. */
static bool is_marked(const uint8_t *marks, const struct tc_plan_init *init)
{
    return init->tensor.storage != TC_PLAN_NO_SLOT && marks[init->tensor.storage];
}

static bool is_right(const struct tc_plan_judged *result)
{
    return result && !result->is_wrong && !result->is_missing;
}

/* Parameters of the rank that the step of one device updates, and this one does not. */
static unsigned count_untrained(const struct judge *j, const struct tc_plan_rank *rank,
                                const uint8_t *updated, bool has_others, const char **first)
{
    uint8_t *written = mark_written(rank->program);
    unsigned n = 0;

    for (size_t i = 0; i < rank->inits.n; i++) {
        const struct tc_plan_init *own = &rank->inits.items[i], *one;
        const struct tc_plan_judged *judged = tc_judged_of(j->verdict, own->name);
        if (own->kind != TC_PLAN_PARAM || is_marked(written, own) || !judged || is_right(judged))
            continue;
        one = tc_plan_init_of(&j->single->ranks[0], own->name);
        if (!one || !is_marked(updated, one) ||
            (!has_others && !is_right(tc_plan_gradient_of(j->verdict, j->single, judged))))
            continue;
        if (!n++)
            *first = tc_strtab_text(j->single->names, own->name);
    }
    tc_free(written);
    return n;
}

/* It leads: what else is found follows from it. */
static void lead(struct tc_plan_verdict *v)
{
    struct tc_plan_finding last = v->findings.items[v->findings.n - 1];

    memmove(v->findings.items + 1, v->findings.items,
            (v->findings.n - 1) * sizeof(*v->findings.items));
    v->findings.items[0] = last;
}

static void tell(struct judge *j, const struct tc_plan_rank *rank, const struct tc_plan_op *op,
                 unsigned n, unsigned n_untrained, const char *first)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_adds(&text, first);
    if (n_untrained > 1)
        tc_strbuf_addf(&text, " (and %u more)", n_untrained - 1);
    tc_strbuf_adds(&text, n_untrained > 1 ? " are not updated: " : " is not updated: ");
    if (n)
        tc_strbuf_addf(&text,
                       "the optimizer trains %u tensor%s that the model does not have, as if it "
                       "was made before the model was sharded",
                       n, n > 1 ? "s" : "");
    else
        tc_strbuf_addf(&text, "the step updates others, and does not write %s",
                       n_untrained > 1 ? "them" : "it");
    tc_judge_add_finding(j->verdict, op, rank->rank,
                         (struct tc_plan_finding){.kind = "untrained",
                                                  .text = tc_plan_keep(j->verdict, &text),
                                                  .name = first});
    lead(j->verdict);
}

/* The first operator that updates a parameter. What has no gradient is updated by none. */
static const struct tc_plan_op *step_of(const struct tc_plan_rank *rank)
{
    const struct tc_plan_op *first = NULL;

    for (size_t i = 0; i < rank->inits.n; i++) {
        const struct tc_plan_op *op =
            rank->inits.items[i].kind == TC_PLAN_PARAM
                ? tc_plan_first_writer(rank->program, rank->inits.items[i].tensor.storage)
                : NULL;
        first = op && (!first || op->line < first->line) ? op : first;
    }
    return first;
}

void tc_judge_add_untrained(struct judge *j)
{
    uint8_t *updated = mark_written(j->single->ranks[0].program);
    unsigned n_untrained = 0;

    for (uint32_t r = 0; r < j->parallel->world && !n_untrained; r++) {
        const struct tc_plan_rank *rank = &j->parallel->ranks[r];
        const char *first = NULL;
        unsigned n = 0;
        if (j->parallel->copies.of[r] != r)
            continue;
        for (size_t i = 0; i < rank->results.n; i++)
            n += tc_judge_is_of_optimizer_alone(j, rank->results.items[i].name);
        n_untrained = count_untrained(j, rank, updated, n > 0, &first);
        if (n_untrained)
            tell(j, rank, step_of(rank), n, n_untrained, first);
    }
    tc_free(updated);
}
