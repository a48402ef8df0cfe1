/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.c - the variables of a frame, by the means that each version of Python has
 *
 * 3.12 and later have a function for it; before that the frame's own memory is read. Never by
 * f_locals of a function: that would write its variables back, and a debugger or the script could
 * see it. Returns a new dict, or NULL with an error set.
 */
#include "collect/agent/cpython.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#    define Py_BUILD_CORE /* no other way leads to the variables of a function in 3.11 */
#    include <internal/pycore_frame.h>
#    undef Py_BUILD_CORE
#else
#    include <frameobject.h>
#endif

#include "collect/agent/say/scope.h"

#if PY_VERSION_HEX >= 0x030C0000
/* The value of a variable: a new reference, NULL where it has none. */
static PyObject *value_of(PyFrameObject *frame, PyObject *name)
{
    PyObject *value = PyFrame_GetVar(frame, name);

    if (!value)
        PyErr_Clear();
    return value;
}

static bool add_local_names(PyObject *scope, PyFrameObject *frame, PyObject *names)
{
    bool is_done = names != NULL;

    for (Py_ssize_t i = 0; is_done && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = value_of(frame, name);
        is_done = !value || PyDict_SetItem(scope, name, value) == 0;
        Py_XDECREF(value);
    }
    Py_XDECREF(names);
    return is_done;
}

static bool add_variables(PyObject *scope, PyFrameObject *frame, PyCodeObject *code)
{
    return add_local_names(scope, frame, PyCode_GetVarnames(code)) &&
           add_local_names(scope, frame, PyCode_GetCellvars(code)) &&
           add_local_names(scope, frame, PyCode_GetFreevars(code));
}
#else
/* names[i] stands for values[i], or for what is in that cell. */
static bool add_values(PyObject *scope, PyObject *names, PyObject *const *values)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *value = values[i];
        if (value && PyCell_Check(value))
            value = PyCell_GET(value);
        if (value && PyDict_SetItem(scope, PyTuple_GET_ITEM(names, i), value) < 0)
            return false;
    }
    return true;
}

#    if PY_VERSION_HEX >= 0x030B0000
static bool add_variables(PyObject *scope, PyFrameObject *frame, PyCodeObject *code)
{
    return add_values(scope, code->co_localsplusnames, frame->f_frame->localsplus);
}
#    else
static bool add_variables(PyObject *scope, PyFrameObject *frame, PyCodeObject *code)
{
    PyObject *const *cells = frame->f_localsplus + code->co_nlocals;

    return add_values(scope, code->co_varnames, frame->f_localsplus) &&
           add_values(scope, code->co_cellvars, cells) &&
           add_values(scope, code->co_freevars, cells + PyTuple_GET_SIZE(code->co_cellvars));
}
#    endif
#endif

PyObject *tc_scope_of(PyObject *frame)
{
    PyCodeObject *code;
    PyObject *scope = NULL;

    if (!PyFrame_Check(frame))
        return PyErr_Format(PyExc_TypeError, "a frame");
    code = PyFrame_GetCode((PyFrameObject *)frame);
    if (code->co_flags & CO_OPTIMIZED) {
        scope = PyDict_New();
        if (scope && !add_variables(scope, (PyFrameObject *)frame, code))
            Py_CLEAR(scope);
    } else {
        scope = PyObject_GetAttrString(frame, "f_locals");
    }
    Py_DECREF(code);
    return scope;
}
