/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced_call.h - which calls of an API the trace tells of
 */
#ifndef TC_COLLECT_TRACED_CALL_H
#define TC_COLLECT_TRACED_CALL_H

#include "collect/agent/agent.h"

/* Is this call of the API told of? Counts it, so it is asked once a call. */
bool tc_call_is_traced(struct tc_thread *thread, struct tc_api *api);

#endif /* TC_COLLECT_TRACED_CALL_H */
