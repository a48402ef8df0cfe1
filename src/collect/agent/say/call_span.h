/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_span.h - one traced call, from its begin to its end
 */
#ifndef TC_COLLECT_CALL_SPAN_H
#define TC_COLLECT_CALL_SPAN_H

#include "collect/agent/torch/signature.h"

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

#endif /* TC_COLLECT_CALL_SPAN_H */
