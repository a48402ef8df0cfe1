/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - what --stats records of a tensor: {"min":-1.5,"max":2.0,"mean":0.25,"nan":0,"inf":0}
 */
#ifndef TC_COLLECT_STATS_H
#define TC_COLLECT_STATS_H

#include "collect/agent/torch/tensor.h"

/* Append ,"stats":{...}; nothing if the content cannot be read. */
void tc_stats_add(struct tc_strbuf *out, PyObject *tensor, const struct tc_tensor *as);

#endif /* TC_COLLECT_STATS_H */
