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

static void tell(struct tc_thread *thread, const char *function)
{
    PyObject *done;

    n_watched = PyDict_GET_SIZE(watched);
    thread->guard++;
    done = tc_policy_call(function, NULL);
    Py_XDECREF(done);
    if (!done)
        tc_agent_failed(NULL, "names of the script");
    thread->guard--;
}

void tc_own_names_look(struct tc_thread *thread)
{
    if (watched && PyDict_GET_SIZE(watched) != n_watched && !thread->number)
        tell(thread, "look_at_own");
}

bool tc_own_names_look_now(void)
{
    struct tc_thread *thread = tc_agent.enabled && watched ? tc_thread_current() : NULL;

    if (!thread || thread->guard || thread->number)
        return false;
    tell(thread, "look_at_own");
    return true;
}

void tc_own_names_train(struct tc_thread *thread)
{
    static bool is_told;

    if (is_told || !watched || thread->number)
        return;
    is_told = true;
    tell(thread, "training_begins");
}
