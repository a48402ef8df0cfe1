/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - what the script calls an object that it hands to a function of its own
 */
#ifndef TC_COLLECT_NAMES_H
#define TC_COLLECT_NAMES_H

#include "collect/agent/agent.h"

/*
 * Append ,"name":"loader" for the object of that serial: the name under which it was handed over
 * first, null where it had none. Nothing is appended where so many were asked for that the policy
 * looks no more.
 */
void tc_names_add(struct tc_strbuf *out, PyObject *object, int64_t serial, bool is_tensor);

#endif /* TC_COLLECT_NAMES_H */
