/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.h - how many refer to a StorageImpl, where torch's C++ counts them
 *
 * torch promises nothing of where that is. So it is searched for once, in a storage to which
 * references are added by torch's own means.
 */
#ifndef TC_COLLECT_COUNTS_H
#define TC_COLLECT_COUNTS_H

#include "collect/agent/torch/dlpack.h"

/* Search. tensor: one on the CPU. False, without a Python error, where they are not found. */
bool tc_counts_find(PyObject *tensor);
/* Add a weak reference to the StorageImpl, which has a strong one. False: not known how. */
bool tc_counts_hold(uint64_t storage);
/* Is there no strong reference any more? The caller has a weak one. */
enum tc_answer tc_counts_are_over(uint64_t storage);

#endif /* TC_COLLECT_COUNTS_H */
