/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_record.h - what the trace says of a call: that it began, and how it ended
 */
#ifndef TC_COLLECT_CALL_RECORD_H
#define TC_COLLECT_CALL_RECORD_H

#include "collect/agent/say/call_span.h"

void tc_record_call(struct tc_thread *thread, const struct tc_span *span);
void tc_record_return(struct tc_thread *thread, const struct tc_span *span, PyObject *result);
/* type and value of the exception, as PyErr_Fetch gives them. */
void tc_record_raise(struct tc_thread *thread, const struct tc_span *span, PyObject *type,
                     PyObject *value);

#endif /* TC_COLLECT_CALL_RECORD_H */
