/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - what a traced call sets off, when it begins and when it ends
 */
#ifndef TC_COLLECT_CALLS_H
#define TC_COLLECT_CALLS_H

#include "collect/agent/say/call_span.h"

/* The call is about to be made. Leaves no Python error. */
void tc_call_begin(struct tc_thread *thread, struct tc_api *api, const struct tc_sig *sig,
                   const struct tc_arguments *args, struct tc_span *span);
/* It was made: result is NULL if it raised, the exception being set. */
void tc_call_end(struct tc_thread *thread, struct tc_span *span, PyObject *result);

#endif /* TC_COLLECT_CALLS_H */
