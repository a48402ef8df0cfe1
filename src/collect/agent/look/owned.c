/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owned.c - the walk over param_groups, and names for what only an optimizer holds
 *
 * A module in the place of an optimizer is walked as one group with all that it holds. Whatever is
 * no list of tensors is passed over without an error: wrappers show all kinds of things. Names of
 * the form optimizer.param_groups[0][1] are given only until a root module has a better one.
 */
#include "collect/agent/look/owned.h"

#include "collect/agent/look/tracked.h"
#include "collect/agent/torch/classes.h"
#include "collect/agent/torch/identity.h"
#include "collect/agent/torch/modules.h"

static void each_in_group(PyObject *group, size_t g, tc_owned_fn *visit, void *context)
{
    PyObject *params = PyDict_Check(group) ? PyDict_GetItemString(group, "params") : NULL;

    if (!params || !PyList_Check(params))
        return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); i++)
        if (tc_tensor_is(PyList_GET_ITEM(params, i)))
            visit(PyList_GET_ITEM(params, i), g, (size_t)i, context);
}

/* Of a module and all it holds, as if it were one group. */
static void each_of_module(PyObject *module, tc_owned_fn *visit, void *context, int depth)
{
    PyObject *parameters = tc_module_entry(module, TC_MODULE_PARAMETERS);
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (parameters && PyDict_Check(parameters) && PyDict_Next(parameters, &pos, &key, &value))
        if (tc_tensor_is(value))
            visit(value, 0, 0, context);
    pos = 0;
    while (depth < TC_MODULE_MAX_DEPTH && children && PyDict_Check(children) &&
           PyDict_Next(children, &pos, &key, &value))
        if (value != Py_None)
            each_of_module(value, visit, context, depth + 1);
}

static bool is_module(PyObject *optimizer)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(optimizer));

    return class && class->kind == TC_CLASS_MODULE;
}

void tc_owned_each(PyObject *optimizer, tc_owned_fn *visit, void *context)
{
    PyObject *groups;

    if (is_module(optimizer)) {
        each_of_module(optimizer, visit, context, 0);
        return;
    }
    groups = PyObject_GetAttrString(optimizer, "param_groups");

    for (Py_ssize_t i = 0; groups && PyList_Check(groups) && i < PyList_GET_SIZE(groups); i++)
        each_in_group(PyList_GET_ITEM(groups, i), (size_t)i, visit, context);
    Py_XDECREF(groups);
    PyErr_Clear();
}

static void meet_param(PyObject *param, size_t group, size_t i, void *context)
{
    int64_t serial = tc_identity_tensor(param);
    struct tc_tracked *v = serial ? tc_tracked_meet(param, serial) : NULL;
    struct tc_strbuf name = TC_STRBUF_INIT;

    (void)context;
    if (!v)
        return;
    if (v->name || tc_agent.is_narrowed) /* then it waits until a root is known */
        return;
    tc_strbuf_addf(&name, "optimizer.param_groups[%zu][%zu]", group, i);
    tc_tracked_set_name(v, name.text, 0);
    tc_strbuf_release(&name);
}

void tc_owned_meet(PyObject *optimizer)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(optimizer));

    if (tc_agent.track && !tc_agent.is_skipped && class && class->kind == TC_CLASS_OPTIMIZER)
        tc_owned_each(optimizer, meet_param, NULL);
}

/* As relied.check_groups() of the policy, which tells of it. */
static bool shows_params(PyObject *optimizer)
{
    PyObject *groups = PyObject_GetAttrString(optimizer, "param_groups");
    bool shows = groups && PyList_Check(groups);

    for (Py_ssize_t i = 0; shows && i < PyList_GET_SIZE(groups); i++) {
        PyObject *group = PyList_GET_ITEM(groups, i);
        PyObject *params = PyDict_Check(group) ? PyDict_GetItemString(group, "params") : NULL;
        shows = params && PyList_Check(params);
    }
    Py_XDECREF(groups);
    PyErr_Clear();
    return shows;
}

bool tc_owned_is_shown(PyObject *optimizer)
{
    return is_module(optimizer) || shows_params(optimizer);
}
