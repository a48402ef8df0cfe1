/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - threads that take no signals, and waits that no change of the clock disturbs
 *
 * Signals are the user's: a thread of ours is started with all of them blocked. Conditions are by
 * the monotonic clock; one made otherwise must not be given to tc_thread_wait().
 */
#include "collect/thread.h"

#include <signal.h>
#include <time.h>

bool tc_thread_start(pthread_t *out, void *(*run)(void *))
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(out, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0;
}

void tc_thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

void tc_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, long ns)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_cond_timedwait(cond, lock, &until);
}
