/*
 * pool.h - the one door to libuv's threads for computing
 */
#ifndef TC_BASE_POOL_H
#define TC_BASE_POOL_H

#include <stddef.h>

/* Cores this process may use, at least 1. */
unsigned tc_pool_cores(void);

/*
 * Call job(context, i) once for each i in [0, n), on up to n_threads threads (the caller's among
 * them), in no particular order; returns when all are done. With n_threads <= 1 everything runs in
 * order on the caller's thread.
 */
void tc_pool_run(size_t n, unsigned n_threads, void (*job)(void *context, size_t i), void *context);

#endif /* TC_BASE_POOL_H */
