/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpython.h - Python.h as the agent wants it
 */
#ifndef TC_COLLECT_AGENT_CPYTHON_H
#define TC_COLLECT_AGENT_CPYTHON_H

#define PY_SSIZE_T_CLEAN /* lengths in formats of arguments are Py_ssize_t */
#include <Python.h>

#endif /* TC_COLLECT_AGENT_CPYTHON_H */
