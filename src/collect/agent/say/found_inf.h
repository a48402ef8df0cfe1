/* SPDX-License-Identifier: Apache-2.0 */
/*
 * found_inf.h - whether a gradient scaler has found a gradient that is not finite
 */
#ifndef TC_COLLECT_FOUND_INF_H
#define TC_COLLECT_FOUND_INF_H

#include "collect/agent/say/call_span.h"

/* Add ,"found_inf":... to the return of a scaler's call for an optimizer; nothing where it is not
 * known. */
void tc_found_inf_add(struct tc_strbuf *out, const struct tc_span *span);

#endif /* TC_COLLECT_FOUND_INF_H */
