/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - the user's interpreter, seen from outside
 */
#ifndef TC_COLLECT_PYTHON_H
#define TC_COLLECT_PYTHON_H

#include <traincheck/error.h>

struct tc_python {
    char *program; /* path, not resolved: a venv's link stays the venv's */
    char *version; /* "3.11" */
    char *library; /* path of its shared libpython, NULL if it has none */
    char *agent;   /* path of the agent built for it */
    char *inject;  /* folder with the sitecustomize of children */
};

void tc_python_release(struct tc_python *python);

/*
 * Find the interpreter - wanted, else that of tc_interpreter_of_environment, else python3 on PATH -
 * ask it, and find the agent of its version beside our executable. TC_E_NOTFOUND says what is
 * missing and what helps.
 */
enum tc_status tc_python_find(const char *wanted, struct tc_python *out, struct tc_error *err);

/* For a command, which has interpreters of its own: fills in only inject. */
enum tc_status tc_python_find_agents(struct tc_python *out, struct tc_error *err);

#endif /* TC_COLLECT_PYTHON_H */
