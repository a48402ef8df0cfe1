/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - members of a module, from its own dict
 *
 * No attribute is asked where the dict has it: __getattr__ of a module may be the user's, or run
 * long. Walks end at TC_MODULE_MAX_DEPTH, as a module may hold itself. Wrappers without parameters
 * of their own are looked through for the mode. Results are borrowed.
 */
#include "collect/agent/torch/modules.h"

PyObject *tc_module_entry(PyObject *module, enum tc_module_entry entry)
{
    static const char *const texts[] = {"_parameters", "_buffers", "_modules", "training"};
    static PyObject *names[sizeof(texts) / sizeof(texts[0])]; /* interned once */
    PyObject **dict = _PyObject_GetDictPtr(module), *found;

    if (!names[entry])
        names[entry] = PyUnicode_InternFromString(texts[entry]);
    if (!names[entry] || !dict || !*dict || !PyDict_Check(*dict))
        return NULL;
    found = PyDict_GetItemWithError(*dict, names[entry]);
    if (!found)
        PyErr_Clear();
    return found;
}

static bool owns(PyObject *module, int depth)
{
    PyObject *parameters = tc_module_entry(module, TC_MODULE_PARAMETERS);
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    if (depth > TC_MODULE_MAX_DEPTH)
        return false;
    while (parameters && PyDict_Check(parameters) && PyDict_Next(parameters, &pos, &key, &value))
        if (value != Py_None)
            return true;
    pos = 0;
    while (children && PyDict_Check(children) && PyDict_Next(children, &pos, &key, &value))
        if (value != Py_None && owns(value, depth + 1))
            return true;
    return false;
}

bool tc_module_owns_parameter(PyObject *module)
{
    return owns(module, 0);
}

/* The one child of a module without parameters of its own; NULL of any other. */
static PyObject *wrapped(PyObject *module)
{
    PyObject *parameters = tc_module_entry(module, TC_MODULE_PARAMETERS);
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *child;
    Py_ssize_t pos = 0;

    if (!parameters || !PyDict_Check(parameters) || PyDict_GET_SIZE(parameters) || !children ||
        !PyDict_Check(children) || PyDict_GET_SIZE(children) != 1)
        return NULL;
    return PyDict_Next(children, &pos, &key, &child) && child != Py_None ? child : NULL;
}

/* Scripted modules keep it in C++. */
static bool asks_for_training(PyObject *module)
{
    PyObject *found = PyObject_GetAttrString(module, "training");

    Py_XDECREF(found);
    PyErr_Clear();
    return found == Py_True;
}

bool tc_module_is_training(PyObject *module)
{
    PyObject *entry = tc_module_entry(module, TC_MODULE_TRAINING), *inner = module;

    for (int depth = 0; !entry && depth < TC_MODULE_MAX_DEPTH && (inner = wrapped(inner)); depth++)
        entry = tc_module_entry(inner, TC_MODULE_TRAINING);
    return entry ? entry == Py_True : asks_for_training(module);
}

bool tc_module_root_is_training(PyObject *root)
{
    PyObject *inner = root;

    for (int depth = 0; (inner = wrapped(root)) && depth < TC_MODULE_MAX_DEPTH; depth++)
        root = inner;
    return tc_module_is_training(root);
}
