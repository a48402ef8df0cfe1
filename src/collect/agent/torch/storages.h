/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storages.h - which storages were met, and what tensors showed of them
 *
 * A storage is known by the address of its StorageImpl, which torch keeps from another for as long
 * as somebody has a weak reference to it. The content is not kept alive by that.
 */
#ifndef TC_COLLECT_STORAGES_H
#define TC_COLLECT_STORAGES_H

#include "collect/agent/agent.h"

/* Take what is needed from the imported torch; what it lacks is done without. */
void tc_storages_init(PyObject *torch);
/* A number of the caller's for what the tensor shows of its storage, 0 at first; NULL if the
 * storage cannot be known. Valid until the next call. Leaves no Python error. */
uint64_t *tc_storage_piece(PyObject *tensor);

#endif /* TC_COLLECT_STORAGES_H */
