/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - the structure of torch modules
 */
#ifndef TC_COLLECT_MODULES_H
#define TC_COLLECT_MODULES_H

#include "collect/agent/agent.h"

/* Deeper than any module: a cycle. */
#define TC_MODULE_MAX_DEPTH 200

enum tc_module_entry {
    TC_MODULE_PARAMETERS,
    TC_MODULE_BUFFERS,
    TC_MODULE_MODULES,
    TC_MODULE_TRAINING
};

/* The instance's own dict entry, borrowed, or NULL: no user code runs. */
PyObject *tc_module_entry(PyObject *module, enum tc_module_entry entry);
bool tc_module_owns_parameter(PyObject *module);
/* A compiled module has no mode of its own: that of what it wraps. */
bool tc_module_is_training(PyObject *module);
/* The mode in which a root forward computes: a wrapper (data parallel, compiled, adapters), which
 * has one child and no parameters of its own, need not be in the mode of what it wraps. */
bool tc_module_root_is_training(PyObject *root);

#endif /* TC_COLLECT_MODULES_H */
