/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.h - parameters and buffers, and what becomes of them
 *
 * Variables are met where an optimizer or a root module shows them. A look
 * compares all of them with what was seen last and records what changed.
 */
#ifndef TC_COLLECT_VARIABLES_H
#define TC_COLLECT_VARIABLES_H

#include "collect/agent/agent.h"

/* Meet the parameters of an optimizer; of a root module and all it holds. */
void tc_variables_meet_optimizer(PyObject *optimizer);
void tc_variables_meet_root(PyObject *module);
/*
 * A module is called inside the forward of a root. Its variables are met if it is none of the
 * root's children, as one that stands in a plain list.
 */
void tc_variables_meet_called(const struct tc_thread *thread, PyObject *module);
/* Has the module been met as a root, or one that it holds? A trainer's own module holds the model.
 */
bool tc_variables_holds_root(PyObject *module);

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
};

/* Look at all of them. cause is the id of the call that ends, 0 for none. */
void tc_variables_look(struct tc_thread *thread, int64_t cause, enum tc_look look);

void tc_variables_look_after_step(struct tc_thread *thread, int64_t cause, PyObject *optimizer);
/*
 * Look at those alone that an optimizer owns: one that is called inside of another call may be one
 * of many, as where each parameter has its own that steps inside of the backward.
 */
void tc_variables_look_at_owned(struct tc_thread *thread, int64_t cause, PyObject *optimizer,
                                bool has_stepped);

/* Add ,"params":[...] (and ,"uncleared":[...] where with_uncleared and there are some). */
void tc_variables_add_params(struct tc_strbuf *out, PyObject *optimizer, bool with_uncleared);
/* The optimizer has used its gradients. */
void tc_variables_stepped(PyObject *optimizer);

/* tensor.swap_tensors refuses tensors with weak references: let go of ours, and take them again. */
void tc_variables_let_go(PyObject *tensor);

void tc_variables_set_budget(uint64_t bytes);
void tc_variables_reset(void);

#endif /* TC_COLLECT_VARIABLES_H */
