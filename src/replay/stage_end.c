/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_end.c - functions that evaluate, and the stage after them
 *
 * That one has evaluated is forgotten when the collector tells of another stage, or when a model is
 * asked or changes its mode.
 */
#include "replay/stage_end.h"

#include "replay/symbols.h"

/* A function that asks models so often, or sets one to evaluation and asks it, evaluates. */
#define ASKS 2

/* The outermost open call of the script's own that began outside of an evaluation, or NULL. */
static struct tc_call *asking(const struct tc_spans *spans)
{
    for (size_t i = 0; i < spans->own.n; i++)
        if (spans->own.items[i]->stage != TC_SYM_EVALUATION)
            return spans->own.items[i];
    return NULL;
}

void tc_stage_call_begins(struct tc_process *process, const struct tc_spans *spans,
                          struct tc_call *call)
{
    struct tc_call *own;

    if (call->stage != TC_SYM_EVALUATION) {
        if (call->stage != TC_SYM_CHECKPOINTING)
            process->has_evaluated = false;
        return;
    }
    if (call->is_root || call->role == TC_ROLE_MODE) {
        process->has_evaluated = false;
        if ((own = asking(spans)))
            own->n_asked += call->is_root || !own->n_asked;
    }
    if (process->has_evaluated)
        call->stage = TC_SYM_TRAINING;
}

void tc_stage_call_ends(struct tc_process *process, const struct tc_call *call)
{
    process->has_evaluated |= call->role == TC_ROLE_OWN && call->n_asked >= ASKS;
}
