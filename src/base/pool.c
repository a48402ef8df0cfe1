/*
 * pool.c - threads for computing
 */
#include "base/pool.h"

#include <stdatomic.h>

#include <uv.h>

#include "base/arena.h"
#include "base/vec.h"

#include "base/banned.h"

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
