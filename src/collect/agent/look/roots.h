/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roots.h - variables that root modules hold, and what they are called
 */
#ifndef TC_COLLECT_ROOTS_H
#define TC_COLLECT_ROOTS_H

#include "collect/agent/look/tracked.h"

/* Meet the variables of a root module and all it holds. */
void tc_roots_meet(PyObject *module);
/*
 * A module is called inside the forward of a root. Its variables are met if it is none of the
 * root's children, as one that stands in a plain list.
 */
void tc_roots_meet_called(const struct tc_thread *thread, PyObject *module);
/* Has the module been met as a root, or one that it holds? A trainer's own module holds the model.
 */
bool tc_roots_are_in(PyObject *module);
/*
 * A buffer whose tensor is gone, as it was assigned anew (`self.mean = ...`): the tensor that
 * stands in its place, borrowed, which is the variable from here on. NULL if there is none.
 */
PyObject *tc_roots_take_successor(struct tc_tracked *v);
void tc_roots_reset(void);

#endif /* TC_COLLECT_ROOTS_H */
