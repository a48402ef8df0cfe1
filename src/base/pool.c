/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - threads for computing
 *
 * tc_pool_run() shares out numbers from a counter; the caller's thread works, too.
 * tc_pool_relay() has one thread produce into slots while the caller consumes them in order.
 * Threads that the system refuses are done without: the result is the same.
 */
#include "base/pool.h"

#include <stdatomic.h>

#include <uv.h>

#include "base/arena.h"
#include "base/vec.h"

struct batch {
    void (*job)(void *context, size_t i);
    void *context;
    size_t n;
    atomic_size_t next;
};

unsigned tc_pool_cores(void)
{
    return uv_available_parallelism(); /* at least 1; heeds the affinity mask */
}

static void work(void *arg)
{
    struct batch *batch = arg;
    size_t i;

    while ((i = atomic_fetch_add(&batch->next, 1)) < batch->n)
        batch->job(batch->context, i);
}

void tc_pool_run(size_t n, unsigned n_threads, void (*job)(void *context, size_t i), void *context)
{
    struct batch batch = {.job = job, .context = context, .n = n};
    size_t n_more = n_threads < n ? n_threads : n, started = 0;
    uv_thread_t *threads;

    n_more -= n_more > 0; /* the caller's thread works too */
    threads = n_more ? tc_malloc(n_more * sizeof(*threads)) : NULL;
    /* Threads that the system refuses are done without. */
    while (started < n_more && uv_thread_create(&threads[started], work, &batch) == 0)
        started++;
    work(&batch);
    while (started)
        uv_thread_join(&threads[--started]);
    tc_free(threads);
}

/* ---- relay --------------------------------------------------------------------------------- */

struct relay {
    bool (*produce)(void *context, size_t slot);
    void *context;
    size_t n_slots;
    uv_sem_t free, full; /* slots */
    atomic_size_t last;  /* the slot behind which nothing comes; set before it is full */
    atomic_bool is_stopped;
};

#define NO_SLOT SIZE_MAX

static void run_producer(void *arg)
{
    struct relay *relay = arg;

    for (size_t slot = 0; relay->last == NO_SLOT; slot = (slot + 1) % relay->n_slots) {
        uv_sem_wait(&relay->free);
        if (relay->is_stopped)
            return;
        if (!relay->produce(relay->context, slot))
            relay->last = slot;
        uv_sem_post(&relay->full);
    }
}

static void consume_all(struct relay *relay, bool (*consume)(void *context, size_t slot))
{
    bool is_over = false;

    for (size_t slot = 0; !is_over; slot = (slot + 1) % relay->n_slots) {
        uv_sem_wait(&relay->full);
        relay->is_stopped = !consume(relay->context, slot);
        is_over = relay->is_stopped || relay->last == slot;
        uv_sem_post(&relay->free);
    }
}

static void take_turns(const struct relay *relay, bool (*consume)(void *context, size_t slot))
{
    bool has_more;

    do
        has_more = relay->produce(relay->context, 0);
    while (consume(relay->context, 0) && has_more);
}

void tc_pool_relay(size_t n_slots, bool (*produce)(void *context, size_t slot),
                   bool (*consume)(void *context, size_t slot), void *context)
{
    struct relay relay = {
        .produce = produce, .context = context, .n_slots = n_slots, .last = NO_SLOT};
    uv_thread_t thread;

    if (uv_sem_init(&relay.free, (unsigned)n_slots) || uv_sem_init(&relay.full, 0))
        tc_out_of_memory();
    if (uv_thread_create(&thread, run_producer, &relay)) {
        take_turns(&relay, consume);
    } else {
        consume_all(&relay, consume);
        uv_thread_join(&thread);
    }
    uv_sem_destroy(&relay.free);
    uv_sem_destroy(&relay.full);
}
