/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untrained.c - parameters that the step does not update
 *
 * An optimizer that was made before the model was sharded or wrapped has the tensors of that time.
 * What it updates is no result; the parameters that the job computes with stay as they are. The
 * capture names such tensors after the optimizer (docs/plan-format.md). Without them a parameter
 * whose gradient is wrong, too, is not told of here: the gradient tells more.
 */
#include <string.h>

#include "plan/judge.h"

#define OF_OPTIMIZER "optimizer"

bool tc_judge_is_of_optimizer_alone(const struct judge *j, tc_sym name)
{
    return strncmp(tc_strtab_text(j->single->names, name), OF_OPTIMIZER, strlen(OF_OPTIMIZER)) ==
               0 &&
           !tc_judged_of(j->verdict, name);
}

static bool writes(const struct tc_plan_op *op, uint32_t storage)
{
    for (uint32_t n = 0; n < op->n_outs; n++)
        if (op->outs[n] && op->outs[n]->storage == storage)
            return true;
    return false;
}

/* The first operator that writes the tensor; NULL: none. */
static const struct tc_plan_op *writer_of(const struct tc_plan_rank *rank, uint32_t storage)
{
    const struct tc_plan_program *p = rank->program;

    for (size_t k = 0; k < p->ops.n; k++)
        if (writes(&p->ops.items[k], storage))
            return &p->ops.items[k];
    return NULL;
}

static const struct tc_plan_init *parameter_of(const struct tc_plan_rank *rank, tc_sym name)
{
    for (size_t i = 0; i < rank->inits.n; i++)
        if (rank->inits.items[i].name == name && rank->inits.items[i].kind == TC_PLAN_PARAM)
            return &rank->inits.items[i];
    return NULL;
}

static bool has_right_gradient(const struct judge *j, tc_sym parameter)
{
    const char *name = tc_strtab_text(j->single->names, parameter);
    struct tc_strbuf text = TC_STRBUF_INIT;
    const struct tc_plan_judged *gradient;

    tc_strbuf_addf(&text, "%s.grad", name);
    tc_sym sym = tc_strtab_find(j->single->names, text.text, text.size);
    gradient = sym == TC_NO_SYM ? NULL : tc_judged_of(j->verdict, sym);
    tc_strbuf_release(&text);
    return gradient && !gradient->is_wrong && !gradient->is_missing;
}

/* Parameters of the rank that the step of one device updates, and this one does not. */
static unsigned count_untrained(const struct judge *j, const struct tc_plan_rank *rank,
                                bool has_others, const char **first)
{
    const struct tc_plan_rank *single = &j->single->ranks[0];
    unsigned n = 0;

    for (size_t i = 0; i < rank->inits.n; i++) {
        const struct tc_plan_init *own = &rank->inits.items[i];
        const struct tc_plan_init *one =
            own->kind == TC_PLAN_PARAM ? parameter_of(single, own->name) : NULL;
        if (!one || !writer_of(single, one->tensor.storage) ||
            writer_of(rank, own->tensor.storage) ||
            (!has_others && !has_right_gradient(j, own->name)))
            continue;
        if (!n++)
            *first = tc_strtab_text(j->single->names, own->name);
    }
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
        const struct tc_plan_op *op = rank->inits.items[i].kind == TC_PLAN_PARAM
                                          ? writer_of(rank, rank->inits.items[i].tensor.storage)
                                          : NULL;
        first = op && (!first || op->line < first->line) ? op : first;
    }
    return first;
}

void tc_judge_add_untrained(struct judge *j)
{
    for (uint32_t r = 0; r < j->parallel->world; r++) {
        const struct tc_plan_rank *rank = &j->parallel->ranks[r];
        const char *first = NULL;
        unsigned n = 0, n_untrained;
        for (size_t i = 0; i < rank->results.n; i++)
            n += tc_judge_is_of_optimizer_alone(j, rank->results.items[i].name);
        n_untrained = count_untrained(j, rank, n > 0, &first);
        if (n_untrained) {
            tell(j, rank, step_of(rank), n, n_untrained, first);
            return;
        }
    }
}
