/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - the one instance, its threads, what it says of itself, and its way to the policy
 */
#include "collect/agent/agent.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"
#include "collect/agent/line.h"
#include "collect/agent/process.h"
#include "collect/agent/sink.h"

#define MAX_NOTED 200 /* notes of errors in one trace */

struct tc_agent tc_agent;

static __thread struct tc_thread *current;
static pthread_key_t thread_end;

const char *tc_stage_name(enum tc_stage stage)
{
    static const char *const names[] = {"init", "training", "evaluation", "checkpointing"};

    return names[stage];
}

/* ---- threads ---- */

static void free_thread(void *p)
{
    struct tc_thread *thread = p;

    tc_vec_release(&thread->stack);
    tc_strbuf_release(&thread->line);
    tc_holes_free(thread->holes);
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

/* ---- notes and errors of ours ---- */

void tc_agent_note(const char *code, const char *text, int64_t count)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    tc_strbuf_adds(&line, "{\"type\":\"note\",\"code\":");
    tc_strbuf_add_json(&line, code, strlen(code));
    if (text) {
        tc_strbuf_adds(&line, ",\"text\":");
        tc_strbuf_add_json(&line, text, strlen(text));
    }
    if (count)
        tc_strbuf_addf(&line, ",\"count\":%lld", (long long)count);
    tc_strbuf_addf(&line, ",\"t\":%lld}\n", (long long)tc_agent_now());
    tc_sink_put(line.text, line.size, 0);
    tc_strbuf_release(&line);
}

/* ": ValueError: text" of the Python error, which is cleared. */
static void describe_error(struct tc_strbuf *out)
{
    PyObject *type, *value, *traceback, *text;

    PyErr_Fetch(&type, &value, &traceback);
    text = value ? PyObject_Str(value) : NULL;
    if (type)
        tc_strbuf_addf(out, ": %s", ((PyTypeObject *)type)->tp_name);
    if (text && PyUnicode_AsUTF8(text))
        tc_strbuf_addf(out, ": %.200s", PyUnicode_AsUTF8(text));
    Py_XDECREF(text);
    if (getenv("TRAINCHECK_DEBUG")) {
        PyErr_Restore(type, value, traceback);
        PyErr_Print();
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
}

void tc_agent_switched_off(const char *text)
{
    if (tc_agent.errors++ < MAX_NOTED)
        tc_agent_note("switched-off", text, 0);
}

void tc_agent_failed(struct tc_api *api, const char *what)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_adds(&text, what);
    if (api) {
        tc_strbuf_addf(&text, " of %s", api->fn);
        api->off = true;
    }
    describe_error(&text);
    tc_agent_switched_off(text.text);
    tc_strbuf_release(&text);
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

/* Another thread is opening the file, in Python code that lets others run. */
static void wait_for_opening(void)
{
    struct timespec one_ms = {0, 1000000};

    while (tc_agent.opening) {
        Py_BEGIN_ALLOW_THREADS;
        nanosleep(&one_ms, NULL);
        Py_END_ALLOW_THREADS;
    }
}

bool tc_agent_ready(void)
{
    struct tc_strbuf why = TC_STRBUF_INIT;
    PyObject *opened;

    if (!tc_sink_is_open())
        wait_for_opening();
    if (tc_sink_is_open())
        return true;
    if (!tc_agent.enabled)
        return false;
    tc_agent.opening = true;
    opened = tc_policy_call("open_trace", NULL);
    tc_agent.opening = false;
    Py_XDECREF(opened);
    if (opened)
        return true;
    tc_agent.enabled = false; /* nothing can be written: the job goes on alone */
    tc_strbuf_adds(&why, "no trace file");
    describe_error(&why);
    tc_process_cannot_open(why.text);
    tc_strbuf_release(&why);
    return false;
}
