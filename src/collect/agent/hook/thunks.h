/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thunks.h - C functions that stand in for those of method descriptors
 *
 * `x.zero_` makes a bound builtin that calls the C function of the descriptor past the descriptor's
 * slot: in `f = x.zero_; f()` always, and before Python 3.11 in every call with keywords. A C
 * function is not told which method it is called for; hence one of its own for each, from a fixed
 * supply.
 */
#ifndef TC_COLLECT_THUNKS_H
#define TC_COLLECT_THUNKS_H

#include "collect/agent/agent.h"

/* What a thunk calls: the receiver is the first of the n arguments by position. */
typedef PyObject *tc_thunk_fn(void *context, PyObject *const *args, size_t n, PyObject *names);

/*
 * Put a thunk in the place of def's function: calls of it go to enter(context, ...), but those
 * announced by tc_thunk_pass, which go to the function. False, with nothing changed, if the calling
 * convention has no thunks or all are in use.
 */
bool tc_thunk_install(PyMethodDef *def, tc_thunk_fn *enter, void *context);

/* The next call of this context's thunk in this thread goes to the function. What was set before,
 * which is to be set again afterwards. */
const void *tc_thunk_pass(const void *context);

#endif /* TC_COLLECT_THUNKS_H */
