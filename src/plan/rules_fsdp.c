/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_fsdp.c - what FSDP2 copies into and out of its buffers
 */
#include "plan/eval.h"

#include <string.h>

/* All inputs, flattened, in a row: the first output. */
static void run_copy_in(struct tc_eval *e)
{
    const struct tc_plan_value *list = tc_eval_arg(e, 0);
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    int64_t at = 0;

    if (list->kind != TC_PLAN_LIST || !out) {
        tc_eval_fail(e, "no list of inputs");
        return;
    }
    tc_el *to = tc_eval_new(e, (size_t)out->numel);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct tc_plan_tensor *t =
            list->items[i].kind == TC_PLAN_TENSOR ? list->items[i].tensor : NULL;
        if (!t || at + t->numel > out->numel) {
            tc_eval_fail(e, "inputs that are larger than their buffer");
            return;
        }
        memcpy(to + at, tc_eval_read(e, t), (size_t)t->numel * sizeof(*to));
        at += t->numel;
    }
    for (; at < out->numel; at++)
        to[at] = TC_EL_UNDEF;
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

/* Each tensor is padded with zeros, cut into chunks along dim, and chunk k of all is row k. */
static void run_chunk_cat(struct tc_eval *e)
{
    const struct tc_plan_value *list = tc_eval_arg(e, 0);
    const struct tc_plan_tensor *out = tc_eval_out(e, 0);
    int64_t chunks = tc_eval_int(e, 2, 1), at = 0;

    if (list->kind != TC_PLAN_LIST || !out || chunks < 1 || out->numel % chunks ||
        tc_eval_int(e, 1, 0) != 0) {
        tc_eval_fail(e, "only along dimension 0");
        return;
    }
    int64_t row = out->numel / chunks;
    tc_el *to = tc_eval_zeros(e, (size_t)out->numel);
    for (uint32_t i = 0; i < list->n && !*e->failure; i++) {
        const struct tc_plan_tensor *t =
            list->items[i].kind == TC_PLAN_TENSOR ? list->items[i].tensor : NULL;
        int64_t rows = t && t->n_dims ? t->sizes[0] : 0;
        int64_t part = rows ? (rows + chunks - 1) / chunks * (t->numel / rows) : 0;
        const tc_el *from = t ? tc_eval_read(e, t) : NULL;
        if (!t || at + part > row) {
            tc_eval_fail(e, "inputs that are larger than their buffer");
            return;
        }
        for (int64_t k = 0; k < t->numel; k++)
            to[k / part * row + at + k % part] = from[k];
        at += part;
    }
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

const struct tc_rule tc_rules_fsdp[] = {
    {"fsdp.all_gather_copy_in", "all_gather_inputs", run_copy_in, TC_RULE_PLAIN, 0, 0},
    {"fsdp.chunk_cat",              "tensors dim num_chunks", run_chunk_cat, TC_RULE_PLAIN, 0, 0},
    {"aten._chunk_cat",                        "tensors dim num_chunks", run_chunk_cat, TC_RULE_PLAIN, 0, 0},
    {0                        },
};
