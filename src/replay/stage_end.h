/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_end.h - an evaluation ends with the function of the script that evaluates
 *
 * The collector knows that an evaluation is over once a model is trained again. What a script does
 * in between belongs to training: it makes batches, sets rates, resets weights, in one run after an
 * evaluation and in another before one. A function evaluates if models answer in it twice or more,
 * without gradients or in evaluation mode, or if it sets a model to that and asks it. One that asks
 * once is a helper of who evaluates, or acts.
 */
#ifndef TC_REPLAY_STAGE_END_H
#define TC_REPLAY_STAGE_END_H

#include "replay/span.h"

/* A call of the main thread begins: its stage is training if an evaluation is over. */
void tc_stage_call_begins(struct tc_process *process, const struct tc_spans *spans,
                          struct tc_call *call);
/* It has ended. */
void tc_stage_call_ends(struct tc_process *process, const struct tc_call *call);

#endif /* TC_REPLAY_STAGE_END_H */
