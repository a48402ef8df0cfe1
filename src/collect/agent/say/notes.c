/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.c - what the agent says of itself in the trace, and whether there is one
 *
 * The functions are declared in agent.h, as every room may fail. A part that fails is switched
 * off and noted, and the error of Python is cleared: the script never sees it. With the
 * interpreter's lock, but for tc_agent_note().
 */
#include "collect/agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/agent/say/queue.h"
#include "collect/agent/say/sink.h"

#define MAX_NOTED 200 /* notes of errors in one trace */

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
    tc_queue_put(line.text, line.size, 0);
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
    snprintf(tc_agent.failure, sizeof(tc_agent.failure), "%s", why.text);
    tc_strbuf_release(&why);
    return false;
}
