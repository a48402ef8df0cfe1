/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin_cuda.c - a libcuda.so.1 of our own: copies that take their time, and events behind them
 *
 * The agent asks the driver that is loaded for events by these names. What a copy is to bring is
 * there once its event has passed, and not a moment before.
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUCCESS         0
#define INVALID_HANDLE  400
#define NOT_READY       600
#define ILLEGAL_ADDRESS 700

#define EXPORT __attribute__((visibility("default")))

struct event;
EXPORT void *standin_copy(void *to, const void *from, size_t size, unsigned delay_us);
EXPORT void standin_wait(struct event *event);
EXPORT void standin_fail_at(unsigned n);
EXPORT unsigned standin_queries(void);
EXPORT unsigned standin_early(void);
EXPORT int cuEventQuery(struct event *event);
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode);

struct event {
    struct event *next;
    void *to;
    const void *from;
    size_t size;
    unsigned delay_us;
    atomic_bool has_passed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct event *first, **last = &first;
static atomic_uint n_queries, n_early, fails_at; /* fails_at 0: none does */

/* The stream: one copy after the other. */
static void copy_all(void)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        struct event *event;

        while (!first)
            pthread_cond_wait(&work, &lock);
        event = first;
        first = event->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        if (event->delay_us)
            usleep(event->delay_us);
        memcpy(event->to, event->from, event->size);
        pthread_mutex_lock(&lock);
        atomic_store(&event->has_passed, 1);
        pthread_cond_broadcast(&done);
    }
}

static void *run(void *unused)
{
    (void)unused;
    copy_all();
    return NULL;
}

static void start(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, NULL) != 0)
        abort();
    pthread_detach(thread);
}

/* Copy after so many microseconds; the event is the caller's, and stays for ever. */
EXPORT void *standin_copy(void *to, const void *from, size_t size, unsigned delay_us)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct event *event = calloc(1, sizeof(*event));

    pthread_once(&once, start);
    if (!event)
        abort();
    event->to = to;
    event->from = from;
    event->size = size;
    event->delay_us = delay_us;
    pthread_mutex_lock(&lock);
    *last = event;
    last = &event->next;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
    return event;
}

EXPORT void standin_wait(struct event *event)
{
    pthread_mutex_lock(&lock);
    while (!atomic_load(&event->has_passed))
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
}

/* From query number n on, the driver fails. */
EXPORT void standin_fail_at(unsigned n)
{
    atomic_store(&fails_at, n);
}

EXPORT unsigned standin_queries(void)
{
    return atomic_load(&n_queries);
}

/* Queries that came before the event had passed. */
EXPORT unsigned standin_early(void)
{
    return atomic_load(&n_early);
}

EXPORT int cuEventQuery(struct event *event)
{
    const unsigned n = atomic_fetch_add(&n_queries, 1) + 1, fails = atomic_load(&fails_at);

    if (fails && n >= fails)
        return ILLEGAL_ADDRESS;
    if (!event)
        return INVALID_HANDLE;
    if (atomic_load(&event->has_passed))
        return SUCCESS;
    atomic_fetch_add(&n_early, 1);
    return NOT_READY;
}

EXPORT int cuThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int current;
    const int old = current;

    current = *mode;
    *mode = old;
    return SUCCESS;
}
