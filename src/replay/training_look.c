/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training_look.c - the last two batches of each root, to recognise one that comes without
 * gradients
 *
 * Called as a root forward begins. What is inside of such a forward takes over that it is one.
 */
#include "replay/training_look.h"

#include "replay/symbols.h"

static struct tc_batches *batches_of(struct tc_process *process, int64_t root)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&process->batches, (uint64_t)root, &is_new);

    if (is_new) {
        struct tc_batches *batches = tc_calloc(1, sizeof(*batches));
        *batches = (struct tc_batches){TC_NONE, TC_NONE};
        *slot = (uintptr_t)batches;
    }
    return (struct tc_batches *)(uintptr_t)*slot;
}

/* Serial of the first tensor among the operands, or TC_NONE. */
static int64_t batch_of(const struct tc_call *call)
{
    return tc_value_int(tc_value_get(tc_call_next_tensor(call, &(uint32_t){0}), "id"), TC_NONE);
}

void tc_look_begins(struct tc_process *process, struct tc_call *call)
{
    int64_t root = tc_value_int(tc_value_get(call->self, "id"), TC_NONE), batch;

    call->is_look = call->parent && call->parent->is_look;
    if (call->is_root && tc_call_is_training(call) && (batch = batch_of(call)) != TC_NONE) {
        struct tc_batches *batches = batches_of(process, root);
        if (tc_value_get(call->ctx, "grad"))
            call->is_look |= batch == batches->last && batches->before != TC_NONE;
        else if (batch != batches->last)
            *batches = (struct tc_batches){batch, batches->last};
    }
    if (call->is_look)
        call->stage = TC_SYM_TRAINING;
}

void tc_look_release(struct tc_process *process)
{
    tc_map_release_structs(&process->batches);
}
