/* SPDX-License-Identifier: Apache-2.0 */
/*
 * misread.c - numbers that Python has read, and that are others here: its plan is not that of them
 *
 * On a fake process group each rank keeps its own numbers of what ranks exchange. What Python
 * computes from them, as a length, is not that of the job. What depends on parameters is another
 * number with each evaluation: the counts of tokens that each expert gets, say. That matters where
 * Python made a size of it. An accuracy that a script prints becomes none.
 */
#include "plan/judge.h"
#include "plan/rules.h"

/* Does the value that is read depend on what another rank sends? A mark for each slot, forgotten
 * when the slot is given to another storage. Operators count from 1 there. */
static bool is_exchanged(const struct tc_plan_program *p, const struct tc_plan_op *read)
{
    uint8_t *marks = tc_calloc(p->n_slots + 1, 1);
    size_t n = (size_t)(read - p->ops.items), alloc = 0;

    for (size_t i = 0; i < n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        bool marked = op->rule->kind == TC_RULE_COLLECTIVE || op->rule->kind == TC_RULE_RECEIVE;
        for (; alloc < p->allocs.n && p->allocs.items[alloc].op <= i + 1; alloc++)
            marks[p->allocs.items[alloc].slot] = 0;
        for (uint32_t k = 0; k < op->n_reads; k++)
            marked = marked || marks[op->reads[k]->storage];
        for (uint32_t k = 0; k < op->n_outs && marked; k++)
            if (op->outs[k])
                marks[op->outs[k]->storage] = 1;
    }
    bool found = marks[read->reads[0]->storage];
    tc_free(marks);
    return found;
}

static bool has_size(const struct tc_plan_tensor *const *tensors, uint32_t n, int64_t size)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t d = 0; tensors[k] && d < tensors[k]->n_dims; d++)
            if (tensors[k]->sizes[d] == size)
                return true;
    return false;
}

/* Is the number a size of tensors after it was read, and of none before? */
static bool became_size(const struct tc_plan_program *p, const struct tc_plan_op *read)
{
    for (size_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        if (has_size(op->outs, op->n_outs, (int64_t)read->value) ||
            has_size(op->reads, op->n_reads, (int64_t)read->value))
            return op > read;
    }
    return false;
}

void tc_trial_take_misread(void *context, const struct tc_run *run, const struct tc_plan_op *op,
                           int64_t is)
{
    struct trial *t = context;
    struct judge *j = t->judge;

    if (!is_exchanged(run->plan->program, op) && !became_size(run->plan->program, op))
        return;
    pthread_mutex_lock(&j->lock);
    if (!j->misread || run->plan->rank < j->misread_rank ||
        (run->plan->rank == j->misread_rank && op->line < j->misread->line)) {
        j->misread = op;
        j->misread_rank = run->plan->rank;
        j->misread_program = run->plan->program;
        j->misread_is = is;
    }
    pthread_mutex_unlock(&j->lock);
}

void tc_judge_add_misread(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;
    const struct tc_plan_op *op = j->misread;
    struct tc_strbuf text = TC_STRBUF_INIT;

    v->outcome = TC_PLAN_UNJUDGED;
    v->findings.n = 0;
    bool exchanged = is_exchanged(j->misread_program, op);

    tc_strbuf_addf(&text,
                   exchanged ? "Python read %.17g here, and all ranks together make %lld: what "
                               "it computed from it is not that of the job"
                             : "Python read %.17g here, and made a size of it. It depends on "
                               "parameters: with other ones it is %lld",
                   op->value, (long long)j->misread_is);
    tc_judge_add_finding(v, op, j->misread_rank,
                         (struct tc_plan_finding){
                             .kind = "misread",
                             .text = tc_plan_keep(v, &text),
                             .hint = exchanged ? "capture the real job, where Python reads what "
                                                 "all ranks made: traincheck-collect --plan DIR -- "
                                                 "torchrun ..."
                                               : "a plan has one routing: give each expert a fixed "
                                                 "number of tokens, or all of them and a mask",
                         });
}
