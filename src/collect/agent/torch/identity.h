/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h - serial numbers of the user's objects
 *
 * A serial never names two objects. Objects are known by address together with
 * a weak reference, so none is kept alive. A tensor that is no result of
 * autograd is known by its storage and place in it: `w.data` and `w` are one.
 */
#ifndef TC_COLLECT_IDENTITY_H
#define TC_COLLECT_IDENTITY_H

#include "collect/agent/agent.h"

/* 0 if the object cannot be told from a later one at its address. */
int64_t tc_identity(PyObject *object);
int64_t tc_identity_tensor(PyObject *tensor);
/* A serial for what is no Python object of its own. */
int64_t tc_identity_fresh(void);
/* The storage of the variable has changed (`p.data = ...`): views of the new one have its serial.
 */
void tc_identity_rebind(PyObject *tensor, int64_t serial);
/* Drop our weak reference, keep the serial for identity_restore. */
int64_t tc_identity_forget(PyObject *object);
void tc_identity_restore(PyObject *object, int64_t serial);

#endif /* TC_COLLECT_IDENTITY_H */
