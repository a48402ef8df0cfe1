/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed.h - what the kernel sends of the elements of a tensor (kernel.h), as summary.h has it
 *
 * Knows nothing of Python, as summary.h.
 */
#ifndef TC_COLLECT_PACKED_H
#define TC_COLLECT_PACKED_H

#include "collect/agent/look/summary.h"

/* n and n_columns as tc_summarize() takes them. */
void tc_packed_summary(const unsigned char *sent, size_t n, size_t n_columns, enum tc_integer kind,
                       struct tc_summary *out);
void tc_packed_range(const unsigned char *sent, enum tc_number kind, struct tc_range *out);
/* Of n it is told alone whether it is 0. */
void tc_packed_scale(const unsigned char *sent, enum tc_number kind, struct tc_scale *out);

#endif /* TC_COLLECT_PACKED_H */
