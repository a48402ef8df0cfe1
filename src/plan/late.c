/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.c - operators after which only elementwise ones follow
 */
#include "plan/ledger_state.h"

/* What is left of the program uses the storage for more than the same element of a result. */
static void mark_reads(const struct tc_plan_op *op, bool all, uint8_t *is_mixed)
{
    int64_t n = op->n_outs && op->outs[0] ? op->outs[0]->numel : -1;

    for (uint32_t k = 0; k < op->n_reads; k++)
        if (all || op->reads[k]->numel != n)
            is_mixed[op->reads[k]->storage] = 1;
}

static bool has_mixed(const struct tc_plan_op *op, const uint8_t *is_mixed)
{
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k] && is_mixed[op->outs[k]->storage])
            return true;
    return false;
}

/*
 * Operators after which only elementwise ones follow, up to a result: those of an optimizer. One
 * element of a result depends on one element of theirs. So it is one application and one inverse,
 * and not those of all parameters, that a result rests on.
 */
uint8_t *tc_degree_find_late(const struct tc_plan_program *p)
{
    uint8_t *is_mixed = tc_calloc(p->n_slots + 1, 1);
    size_t a = p->allocs.n;

    uint8_t *is_late = tc_calloc(p->ops.n + 1, 1);
    for (size_t i = p->ops.n; i-- > 0;) {
        const struct tc_plan_op *op = &p->ops.items[i];
        bool is_plain = tc_degree_is_elementwise(op->rule) && !has_mixed(op, is_mixed);
        is_late[i] = is_plain;
        mark_reads(op, !is_plain, is_mixed);
        for (; a > 0 && p->allocs.items[a - 1].op >= i + 1; a--)
            is_mixed[p->allocs.items[a - 1].slot] = 0; /* held something else before */
    }
    tc_free(is_mixed);
    return is_late;
}
