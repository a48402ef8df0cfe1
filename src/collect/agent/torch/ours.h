/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ours.h - objects of this tool's own Python package among the values of a run
 *
 * A callback that checks the run while it goes on stands in the lists that the script hands to its
 * framework. It is no part of what the run does, so that records are without it.
 */
#ifndef TC_COLLECT_OURS_H
#define TC_COLLECT_OURS_H

#include "collect/agent/agent.h"

/* The package has been imported; before that no value is asked. */
void tc_ours_expect(void);
/* Is it an object of a class of the package, or of one derived from it? */
bool tc_ours_is(PyObject *value);
/* Is it in a dict for us: an object of ours, or what a callback adds to what a framework logs? */
bool tc_ours_is_member(PyObject *key, PyObject *value);
/* How many members of a dict are. */
Py_ssize_t tc_ours_count_members(PyObject *dict);
/* How many elements of a list or tuple are. */
Py_ssize_t tc_ours_count(PyObject *sequence);
/* Is it one, or a list or tuple that holds nothing else? */
bool tc_ours_is_all(PyObject *value);

#endif /* TC_COLLECT_OURS_H */
