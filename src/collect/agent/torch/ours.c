/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ours.c - asks the class of a value, and of the elements of short lists
 *
 * Classes are described once each (classes.h). Types of C code are never ours, so that numbers and
 * texts cost a look at a flag. A list of more than MAX_LOOKED_AT holds data.
 */
#include "collect/agent/torch/ours.h"

#include <string.h>

#include "collect/agent/torch/classes.h"

#define MAX_LOOKED_AT 256

static bool is_expected;

void tc_ours_expect(void)
{
    is_expected = true;
}

bool tc_ours_is(PyObject *value)
{
    const struct tc_class *class;

    if (!is_expected || !PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE))
        return false;
    class = tc_class_of(Py_TYPE(value));
    if (!class)
        PyErr_Clear();
    return class && class->ours;
}

/* What a callback adds to the dicts that a framework logs, such as traincheck/violations. */
static bool is_key(PyObject *key)
{
    static const char ours[] = "traincheck/";
    const char *text = is_expected && PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;

    if (!text)
        PyErr_Clear();
    return text && strncmp(text, ours, sizeof(ours) - 1) == 0;
}

bool tc_ours_is_member(PyObject *key, PyObject *value)
{
    return is_key(key) || tc_ours_is(value);
}

Py_ssize_t tc_ours_count_members(PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0, n_ours = 0;

    if (!is_expected || PyDict_GET_SIZE(dict) > MAX_LOOKED_AT)
        return 0;
    while (PyDict_Next(dict, &pos, &key, &value))
        n_ours += tc_ours_is_member(key, value);
    return n_ours;
}

Py_ssize_t tc_ours_count(PyObject *sequence)
{
    Py_ssize_t n = is_expected ? PySequence_Fast_GET_SIZE(sequence) : 0, n_ours = 0;

    for (Py_ssize_t i = 0; n <= MAX_LOOKED_AT && i < n; i++)
        n_ours += tc_ours_is(PySequence_Fast_GET_ITEM(sequence, i));
    return n_ours;
}

bool tc_ours_is_all(PyObject *value)
{
    Py_ssize_t n;

    if (!is_expected)
        return false;
    if (!PyList_Check(value) && !PyTuple_Check(value))
        return tc_ours_is(value);
    n = PySequence_Fast_GET_SIZE(value);
    return n && tc_ours_count(value) == n;
}
