/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.h - looks at parameters and buffers, and when they are taken
 *
 * Variables are met where an optimizer or a root module shows them. A look
 * compares all of them with what was seen last and records what changed.
 */
#ifndef TC_COLLECT_VARIABLES_H
#define TC_COLLECT_VARIABLES_H

#include "collect/agent/agent.h"

/*
 * Which variables are digested though their version counter says that nothing was written. Writes
 * through .data, of kernels that update running statistics, and to flat buffers leave no trace in
 * it.
 */
enum tc_look {
    TC_LOOK_QUICK,   /* none */
    TC_LOOK_STEP,    /* those of the optimizer that has stepped (tc_variables_look_after_step) */
    TC_LOOK_FORWARD, /* buffers */
    TC_LOOK_ALL,
    TC_LOOK_REPLAY, /* and gradients: a graph writes to both, and no counter says so */
};

/* Look at all of them. cause is the id of the call that ends, 0 for none. */
void tc_variables_look(struct tc_thread *thread, int64_t cause, enum tc_look look);
/* The same without a cause, reading all; false if it may not look now. */
bool tc_variables_look_at_all(struct tc_thread *thread);

void tc_variables_look_after_step(struct tc_thread *thread, int64_t cause, PyObject *optimizer);
/*
 * Look at those alone that an optimizer owns: one that is called inside of another call may be one
 * of many, as where each parameter has its own that steps inside of the backward.
 */
void tc_variables_look_at_owned(struct tc_thread *thread, int64_t cause, PyObject *optimizer,
                                bool has_stepped);

/*
 * Another stream is about to become the current one of a device: where the script says so itself,
 * what it has written is looked at before. False where a call of another does, which sees to it
 * that its streams have met when it returns. What no look reads now, as no version counter tells of
 * it, may go on being written: the next look at all joins the streams before.
 */
bool tc_variables_leave_stream(struct tc_thread *thread);

void tc_variables_reset(void);

#endif /* TC_COLLECT_VARIABLES_H */
