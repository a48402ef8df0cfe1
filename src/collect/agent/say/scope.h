/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.h - the variables of a frame of the script's
 */
#ifndef TC_COLLECT_SCOPE_H
#define TC_COLLECT_SCOPE_H

#include "collect/agent/agent.h"

/*
 * What the names of a frame stand for: a new dict for a function, else the namespace itself. New
 * reference, NULL with an exception. Before Python 3.13 `f_locals` of a function writes to the dict
 * that locals() gave the script, and keeps all that is in it alive until the function returns (PEP
 * 667): a batch, or a loss with its graph. This does neither.
 */
PyObject *tc_scope_of(PyObject *frame);

#endif /* TC_COLLECT_SCOPE_H */
