/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.c - what a step begins with, and which operators read and write a storage
 *
 * Once storages share slots (storage_slots.c) the number is that of a slot: parameters and results
 * keep theirs, what lives for a while may follow another storage.
 */
#include "plan/program.h"

const struct tc_plan_init *tc_plan_init_of(const struct tc_plan_rank *rank, tc_sym name)
{
    for (size_t i = 0; i < rank->inits.n; i++)
        if (rank->inits.items[i].name == name)
            return &rank->inits.items[i];
    return NULL;
}

bool tc_plan_reads(const struct tc_plan_op *op, uint32_t storage)
{
    for (uint32_t k = 0; k < op->n_reads; k++)
        if (op->reads[k]->storage == storage)
            return true;
    return false;
}

bool tc_plan_writes(const struct tc_plan_op *op, uint32_t storage)
{
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k] && op->outs[k]->storage == storage)
            return true;
    return false;
}

const struct tc_plan_op *tc_plan_first_reader(const struct tc_plan_program *p, uint32_t storage)
{
    for (size_t i = 0; i < p->ops.n; i++)
        if (tc_plan_reads(&p->ops.items[i], storage))
            return &p->ops.items[i];
    return NULL;
}

const struct tc_plan_op *tc_plan_first_writer(const struct tc_plan_program *p, uint32_t storage)
{
    for (size_t i = 0; i < p->ops.n; i++)
        if (tc_plan_writes(&p->ops.items[i], storage))
            return &p->ops.items[i];
    return NULL;
}
