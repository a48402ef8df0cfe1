/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owned.h - variables that an optimizer owns
 */
#ifndef TC_COLLECT_OWNED_H
#define TC_COLLECT_OWNED_H

#include "collect/agent/agent.h"

typedef void tc_owned_fn(PyObject *param, size_t group, size_t i, void *context);

/* Each parameter of each group; of a module all that it holds, as if it were one group. */
void tc_owned_each(PyObject *optimizer, tc_owned_fn *visit, void *context);
/* Does it show them, so that none is left out? */
bool tc_owned_is_shown(PyObject *optimizer);
/* Meet the parameters of an optimizer. */
void tc_owned_meet(PyObject *optimizer);

#endif /* TC_COLLECT_OWNED_H */
