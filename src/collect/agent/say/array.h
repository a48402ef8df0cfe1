/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.h - arrays and integers of numpy, which the agent does not link to
 */
#ifndef TC_COLLECT_ARRAY_H
#define TC_COLLECT_ARRAY_H

#include "collect/agent/agent.h"

/* Is it a value of numpy's: an array, a number, a dtype? Generators are objects like any other. */
bool tc_is_numpy(PyObject *value);
/* Write it as docs/trace-format.md says; false, with nothing written, if the policy has to: an
 * array whose elements are no plain numbers, or that does not lie in one piece. */
bool tc_encode_array(struct tc_strbuf *out, PyObject *value, bool has_digest, bool is_named);

#endif /* TC_COLLECT_ARRAY_H */
