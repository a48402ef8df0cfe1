/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked_again.h - models that are asked again and again for one input, without gradients
 *
 * Who draws many answers of one input wants them to differ: Monte Carlo dropout. The script has put
 * the model into training mode for that, out of evaluation, and no optimizer has stepped since; or
 * a line of its own, inside of no module, drops again and again from one tensor. An evaluation with
 * a forgotten eval() asks once for each batch.
 *
 * Whether the first input is asked for again is not known when it is asked for first. So it counts
 * as if it were, until a second input comes when the first was asked for once.
 *
 * A teacher may drop, too: a model that no optimizer steps, which is asked in each step of others.
 * An evaluation asks in one step for all of its batches, and then for a while not at all. Whether a
 * teacher that stays as it was may drop, APIArg/drops says.
 */
#ifndef TC_RELATION_ASKED_AGAIN_H
#define TC_RELATION_ASKED_AGAIN_H

#include "relation/relation.h"

struct tc_asked_again {
    struct tc_map askers;   /* (process, model or line) → struct asker * */
    struct tc_map switched; /* (process, model) → serial of the switch to training mode */
    struct tc_map stepped;  /* process → order of the last optimizer step */
    struct tc_map teachers; /* (process, model) → struct teacher * */
};

void tc_asked_again_release(struct tc_asked_again *asked);
/* What it has to know of each call that returned. */
void tc_asked_again_note(struct tc_asked_again *asked, const struct tc_event *event);
/* Is the call, or the forward around it, one of several for one input? */
bool tc_is_asked_again(struct tc_asked_again *asked, const struct tc_event *event);

/* Is it inside a forward without gradients of a model that is asked so in each step, and never
 * stepped? */
bool tc_is_of_a_teacher(struct tc_asked_again *asked, const struct tc_event *event);

#endif /* TC_RELATION_ASKED_AGAIN_H */
