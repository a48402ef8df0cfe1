/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.h - `same` and `finite`: what is asked of a returned tensor
 */
#ifndef TC_COLLECT_ANSWERS_H
#define TC_COLLECT_ANSWERS_H

#include "collect/agent/say/call_span.h"

/* Add ,"same":[...] and ,"finite":... where the questions can be asked cheaply. */
void tc_answers_add(struct tc_strbuf *out, const struct tc_span *span, PyObject *result);

#endif /* TC_COLLECT_ANSWERS_H */
