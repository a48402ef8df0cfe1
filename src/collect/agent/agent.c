/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - the one instance, its threads, and its way to the policy
 */
#include "collect/agent/agent.h"

#include <pthread.h>
#include <stdarg.h>
#include <time.h>

struct tc_agent tc_agent;

static __thread struct tc_thread *current;
static pthread_key_t thread_end;

const char *tc_stage_name(enum tc_stage stage)
{
    static const char *const names[] = {"init", "training", "evaluation", "checkpointing"};

    return names[stage];
}

int64_t tc_agent_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec - tc_agent.anchor_ns;
}

/* ---- threads ---- */

static void free_thread(void *p)
{
    struct tc_thread *thread = p;

    tc_vec_release(&thread->stack);
    tc_strbuf_release(&thread->line);
    if (thread->holes)
        thread->free_holes(thread->holes);
    tc_free(thread);
    current = NULL;
}

static void forget_calls(struct tc_thread *thread)
{
    thread->stack.n = 0;
    thread->n_modules = thread->n_core = 0;
    thread->generation = tc_agent.generation;
}

struct tc_thread *tc_thread_current(void)
{
    static int64_t n_threads;

    if (!current) {
        current = tc_calloc(1, sizeof(*current));
        current->number = n_threads++; /* the first is the main thread: it starts the agent */
        current->generation = tc_agent.generation;
        pthread_setspecific(thread_end, current);
    }
    if (current->generation != tc_agent.generation)
        forget_calls(current);
    return current;
}

bool tc_agent_init(void)
{
    return pthread_key_create(&thread_end, free_thread) == 0;
}

#if PY_VERSION_HEX >= 0x030B0000
#    define enter_tracing PyThreadState_EnterTracing
#    define leave_tracing PyThreadState_LeaveTracing
#else
static void enter_tracing(PyThreadState *state)
{
    state->tracing++;
}

static void leave_tracing(PyThreadState *state)
{
    state->tracing--;
}
#endif

PyObject *tc_frames_hide(void)
{
    PyObject *old = NULL;

    enter_tracing(PyThreadState_Get());
    if (tc_agent.dynamo)
        old = PyObject_CallFunctionObjArgs(tc_agent.dynamo, Py_None, NULL);
    if (!old)
        PyErr_Clear();
    return old;
}

static void restore_dynamo(PyObject *callback)
{
    PyObject *type, *value, *traceback, *done;

    PyErr_Fetch(&type, &value, &traceback);
    done = PyObject_CallFunctionObjArgs(tc_agent.dynamo, callback, NULL);
    Py_XDECREF(done);
    Py_DECREF(callback);
    PyErr_Restore(type, value, traceback);
}

void tc_frames_unhide(PyObject *hidden)
{
    if (hidden)
        restore_dynamo(hidden);
    leave_tracing(PyThreadState_Get());
}

PyObject *tc_policy_call(const char *function, const char *format, ...)
{
    PyObject *callable = PyObject_GetAttrString(tc_agent.policy, function);
    PyObject *args = NULL, *result = NULL, *hidden;
    va_list list;

    va_start(list, format);
    if (callable)
        args = format ? Py_VaBuildValue(format, list) : PyTuple_New(0);
    va_end(list);
    hidden = tc_frames_hide();
    if (args)
        result = PyObject_CallObject(callable, args);
    tc_frames_unhide(hidden);
    Py_XDECREF(args);
    Py_XDECREF(callable);
    return result;
}
