/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params_record.h - what the record of a call says of the variables of an optimizer
 */
#ifndef TC_COLLECT_PARAMS_RECORD_H
#define TC_COLLECT_PARAMS_RECORD_H

#include "collect/agent/agent.h"

/* Add ,"params":[...] (and ,"uncleared":[...] where with_uncleared and there are some). */
void tc_params_add(struct tc_strbuf *out, PyObject *optimizer, bool with_uncleared);
/* The optimizer has used its gradients. */
void tc_params_stepped(PyObject *optimizer);

#endif /* TC_COLLECT_PARAMS_RECORD_H */
