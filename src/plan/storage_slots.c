/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage_slots.c - where the storages of a program lie while it runs
 *
 * A training step touches thousands of storages, most of them for a few operators. A rank that
 * waits for others should hold what is alive and no more: thousands of ranks wait at once.
 */
#include "plan/program.h"

#include <stdlib.h>

#include "plan/rules.h"

#define BEFORE 0          /* filled by init and const lines */
#define AFTER  UINT32_MAX /* a result */

/* Operators count from 1 here. */
static void touch(struct tc_plan_program *p, const struct tc_plan_tensor *t, uint32_t when)
{
    if (!t)
        return;
    struct tc_plan_storage *s = &p->storages.items[t->storage];
    if (s->slot == TC_PLAN_NO_SLOT) {
        s->first = when;
        s->slot = 0; /* has one; which is found later */
    }
    s->last = when;
}

static void touch_all(struct tc_plan_rank *rank)
{
    struct tc_plan_program *p = rank->program;

    for (size_t i = 0; i < p->storages.n; i++)
        p->storages.items[i].slot = TC_PLAN_NO_SLOT;
    for (size_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        for (uint32_t k = 0; k < op->n_reads; k++)
            touch(p, op->reads[k], (uint32_t)i + 1);
        for (uint32_t k = 0; k < op->n_outs; k++)
            touch(p, op->outs[k], (uint32_t)i + 1);
    }
    for (size_t i = 0; i < rank->results.n; i++)
        touch(p, &rank->results.items[i].tensor, AFTER);
    /* What is there before the first operator. */
    for (size_t i = 0; i < rank->inits.n; i++)
        p->storages.items[rank->inits.items[i].tensor.storage].first = BEFORE;
    for (size_t i = 0; i < rank->consts.n; i++)
        p->storages.items[rank->consts.items[i].storage].first = BEFORE;
}

static bool is_written_by(const struct tc_plan_op *op, uint32_t storage, int64_t n)
{
    bool is_plain = op->rule && op->rule->run && op->rule->kind <= TC_RULE_ELEMENTWISE;

    if (!is_plain || op->n_outs != 1)
        return false;
    if (tc_plan_reads(op, storage))
        return false;
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k] && op->outs[k]->storage == storage)
            return op->outs[k]->is_contiguous && op->outs[k]->numel == n;
    return false;
}

typedef TC_VEC(uint32_t) free_slots;

static uint32_t take_slot(struct tc_plan_program *p, free_slots *free)
{
    return free->n ? free->items[--free->n] : p->n_slots++;
}

/* One pass over the operators: a slot from the first touch to the last. */
static void begin(struct tc_plan_program *p, uint32_t storage, uint32_t op, free_slots *free)
{
    struct tc_plan_storage *s = &p->storages.items[storage];
    struct tc_plan_alloc alloc = {.op = op, .n = s->n};

    s->slot = alloc.slot = take_slot(p, free);
    if (op != BEFORE && op != AFTER)
        alloc.is_written = is_written_by(&p->ops.items[op - 1], storage, s->n);
    tc_vec_push(&p->allocs, alloc);
}

static int by_first(const void *a_, const void *b_)
{
    const struct tc_plan_storage *const *a = a_, *const *b = b_;

    if ((*a)->first != (*b)->first)
        return (*a)->first < (*b)->first ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

static int by_last(const void *a_, const void *b_)
{
    const struct tc_plan_storage *const *a = a_, *const *b = b_;

    if ((*a)->last != (*b)->last)
        return (*a)->last < (*b)->last ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

/* What ended before an operator makes room for what begins with it. */
static void assign(struct tc_plan_program *p)
{
    size_t n = 0, ended = 0;
    struct tc_plan_storage **first = tc_calloc(2 * p->storages.n + 2, sizeof(*first)), **last;
    free_slots free = {0};

    for (size_t i = 0; i < p->storages.n; i++)
        if (p->storages.items[i].slot != TC_PLAN_NO_SLOT)
            first[n++] = &p->storages.items[i];
    last = first + n;
    for (size_t i = 0; i < n; i++)
        last[i] = first[i];
    qsort(first, n, sizeof(*first), by_first);
    qsort(last, n, sizeof(*last), by_last);
    for (size_t i = 0; i < n; i++) {
        for (; ended < n && last[ended]->last < first[i]->first; ended++) {
            struct tc_plan_free gone = {last[ended]->slot, last[ended]->last};
            tc_vec_push(&p->frees, gone);
            tc_vec_push(&free, gone.slot);
        }
        begin(p, (uint32_t)(first[i] - p->storages.items), first[i]->first, &free);
    }
    for (; ended < n && last[ended]->last != AFTER; ended++)
        tc_vec_push(&p->frees, ((struct tc_plan_free){last[ended]->slot, last[ended]->last}));
    tc_vec_release(&free);
    tc_free(first);
}

/* The parts of a list operator share tensors: once. */
static void move(const struct tc_plan_program *p, const struct tc_plan_tensor *t_)
{
    struct tc_plan_tensor *t = (struct tc_plan_tensor *)(uintptr_t)t_; /* the reader made it */

    if (t && !t->is_in_slot) {
        t->storage = p->storages.items[t->storage].slot;
        t->is_in_slot = true;
    }
}

static void move_all(struct tc_plan_rank *rank)
{
    struct tc_plan_program *p = rank->program;

    for (size_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        for (uint32_t k = 0; k < op->n_reads; k++)
            move(p, op->reads[k]);
        for (uint32_t k = 0; k < op->n_outs; k++)
            move(p, op->outs[k]);
    }
    for (size_t i = 0; i < rank->inits.n; i++)
        move(p, &rank->inits.items[i].tensor);
    for (size_t i = 0; i < rank->consts.n; i++)
        rank->consts.items[i].storage = p->storages.items[rank->consts.items[i].storage].slot;
    for (size_t i = 0; i < rank->results.n; i++)
        move(p, &rank->results.items[i].tensor);
}

void tc_plan_put_in_slots(struct tc_plan_rank *rank)
{
    touch_all(rank);
    assign(rank->program);
    move_all(rank);
}
