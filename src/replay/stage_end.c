/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_end.c - functions that evaluate, and the stage after them
 *
 * The process remembers the stage to go back to. It forgets it when the collector tells of another
 * one, or when a model is asked or changes its mode.
 */
#include "replay/stage_end.h"

#include "replay/symbols.h"

/* Of a function that asks models so often it is said that it evaluates. */
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
            process->stage_after = TC_SYM_EMPTY;
        return;
    }
    if (call->is_root || call->role == TC_ROLE_MODE)
        process->stage_after = TC_SYM_EMPTY;
    if (process->stage_after != TC_SYM_EMPTY)
        call->stage = process->stage_after;
    if (call->is_root && (own = asking(spans)))
        own->n_asked++;
}

void tc_stage_call_ends(struct tc_process *process, const struct tc_call *call)
{
    if (call->role == TC_ROLE_OWN && call->n_asked >= ASKS)
        process->stage_after = call->stage;
}
