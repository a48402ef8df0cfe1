/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training_look.h - forwards that look at training: no evaluation, although they have no gradients
 *
 * A model in training mode that is asked, without gradients, for the batch on which it has just
 * been trained is asked what training does: how far a step went, how much dropout scatters. The
 * collector calls such a forward an evaluation, as it has no gradients. Where every step has the
 * same batch nothing can be said: there the batch of training is also that of evaluation.
 */
#ifndef TC_REPLAY_TRAINING_LOOK_H
#define TC_REPLAY_TRAINING_LOOK_H

#include "replay/event.h"

/* The last batches that a root was trained on: serials of tensors. */
struct tc_batches {
    int64_t last, before;
};

/* A call of the main thread begins, its parent known: its stage is set to training if it is such a
 * forward or part of one. */
void tc_look_begins(struct tc_process *process, struct tc_call *call);
void tc_look_release(struct tc_process *process);

#endif /* TC_REPLAY_TRAINING_LOOK_H */
