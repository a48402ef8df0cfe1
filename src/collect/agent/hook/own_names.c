/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_names.c - the names of the script's own, looked at again when there are more of them
 *
 * Only in the thread that trains. With the interpreter's lock.
 */
#include "collect/agent/hook/own_names.h"

static PyObject *watched; /* or NULL */
static Py_ssize_t n_watched;

void tc_own_names_watch(PyObject *dict)
{
    Py_XDECREF(watched);
    watched = Py_NewRef(dict);
    n_watched = PyDict_GET_SIZE(dict);
}

void tc_own_names_look(struct tc_thread *thread)
{
    PyObject *done;

    if (!watched || PyDict_GET_SIZE(watched) == n_watched || thread->number)
        return;
    n_watched = PyDict_GET_SIZE(watched);
    thread->guard++;
    done = tc_policy_call("look_at_own", NULL);
    Py_XDECREF(done);
    if (!done)
        tc_agent_failed(NULL, "names of the script");
    thread->guard--;
}
