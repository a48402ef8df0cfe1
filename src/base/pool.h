/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - the one door to libuv's threads for computing
 */
#ifndef TC_BASE_POOL_H
#define TC_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* Cores this process may use, at least 1. */
unsigned tc_pool_cores(void);

/*
 * Call job(context, i) once for each i in [0, n), on up to n_threads threads (the caller's among
 * them), in no particular order; returns when all are done. With n_threads <= 1 everything runs in
 * order on the caller's thread.
 */
void tc_pool_run(size_t n, unsigned n_threads, void (*job)(void *context, size_t i), void *context);

/*
 * Two stages of one work, at the same time: produce(context, slot) on a thread of its own, then
 * consume(context, slot) on the caller's, of slots 0, 1, ... n_slots - 1, 0, ... in this order. A
 * slot is not produced again before it was consumed. Ends behind the slot of which produce said
 * false, or once consume says false; then nothing is produced any more. Where the system refuses a
 * thread the stages take turns.
 */
void tc_pool_relay(size_t n_slots, bool (*produce)(void *context, size_t slot),
                   bool (*consume)(void *context, size_t slot), void *context);

#endif /* TC_BASE_POOL_H */
