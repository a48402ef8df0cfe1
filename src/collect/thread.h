/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - threads of ours in a process that is the user's
 */
#ifndef TC_COLLECT_THREAD_H
#define TC_COLLECT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Start a thread that takes no signals: they are the job's. False if the system gives none. */
bool tc_thread_start(pthread_t *out, void *(*run)(void *));

/* A condition that tc_thread_wait can wait on. */
void tc_thread_cond_init(pthread_cond_t *cond);
/* Wait for cond, at most ns nanoseconds (less than a second); lock is held before and after. */
void tc_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, long ns);

#endif /* TC_COLLECT_THREAD_H */
