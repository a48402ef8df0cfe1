/* SPDX-License-Identifier: Apache-2.0 */
/*
 * var_record.h - the records of a variable: complete once, then what has changed
 */
#ifndef TC_COLLECT_VAR_RECORD_H
#define TC_COLLECT_VAR_RECORD_H

#include "collect/agent/look/tracked.h"

/* Write a record if the variable is new, renamed or changed; s is what is remembered of it. */
void tc_var_record(struct tc_thread *thread, struct tc_tracked *v, PyObject *tensor,
                   const struct tc_seen *s, struct tc_news *news, int64_t cause);

#endif /* TC_COLLECT_VAR_RECORD_H */
