/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - the records of one traced call
 */
#ifndef TC_COLLECT_CALLS_H
#define TC_COLLECT_CALLS_H

#include "collect/agent/signature.h"

/* One call on its way; on the C stack of the redirected slot. */
struct tc_span {
    struct tc_api *api;
    const struct tc_sig *sig;
    PyObject *receiver;       /* borrowed; the first argument of methods */
    struct tc_arguments args; /* without the receiver */
    int64_t id;
    unsigned generation;
    bool is_open;     /* on the thread's stack */
    bool is_recorded; /* and in the trace */
    bool is_root, is_counted, is_held, is_closure, is_module;
    enum tc_stage stage_before;
    int64_t serial; /* of an optimizer */
};

/* Calls of libraries and of the user's methods: what is inside of them is the training. */
bool tc_call_is_container(const struct tc_api *api);

/* The call is about to be made. Leaves no Python error. */
void tc_call_begin(struct tc_thread *thread, struct tc_api *api, const struct tc_sig *sig,
                   const struct tc_arguments *args, struct tc_span *span);
/* It was made: result is NULL if it raised, the exception being set. */
void tc_call_end(struct tc_thread *thread, struct tc_span *span, PyObject *result);

#endif /* TC_COLLECT_CALLS_H */
