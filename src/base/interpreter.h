/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter.h - the Python that a tool works with where the user names none
 */
#ifndef TC_BASE_INTERPRETER_H
#define TC_BASE_INTERPRETER_H

/*
 * The interpreter of the environment that this tool is installed in, as the scripts that pip writes
 * have it, whether that is active or not; else of the active one ($VIRTUAL_ENV, $CONDA_PREFIX). An
 * environment that pipx or `uv tool` made for the tool alone is not one to run jobs in, and does
 * not count. Returns a path that the caller frees, or NULL if there is no environment.
 */
char *tc_interpreter_of_environment(void);

#endif /* TC_BASE_INTERPRETER_H */
