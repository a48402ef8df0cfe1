/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - a list of deferred work, run strictly in order
 *
 * The head is run once its pieces are here; nothing overtakes it. When more than LIMIT bytes wait,
 * records and answers together, the caller waits for the head. At the end of the process what has
 * not come is given up. After a fork the child drops all: the answers are its parent's.
 */
#include "collect/agent/say/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "collect/agent/say/sink.h"

/* Bytes that wait: of records, and of answers. */
#define LIMIT ((size_t)64 << 20)

static struct {
    pthread_mutex_t lock;
    struct tc_deferred *first, **last;
    size_t size;     /* bytes */
    atomic_size_t n; /* those whose run() has not returned: 0 is idle */
    uint64_t n_waits;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};

bool tc_queue_is_idle(void)
{
    return atomic_load_explicit(&queue.n, memory_order_acquire) == 0;
}

uint64_t tc_queue_n_waits(void)
{
    return queue.n_waits;
}

/* ---- running; the queue's lock is held ---- */

/* Of the first: one that has not come, or NULL. */
static struct tc_transfer *missing(void)
{
    for (size_t i = 0; queue.first && i < queue.first->n_pieces; i++)
        if (!tc_piece_has_come(&queue.first->pieces[i]))
            return queue.first->pieces[i].transfer;
    return NULL;
}

static void run_first(void)
{
    struct tc_deferred *d = queue.first;

    queue.first = d->next;
    if (!queue.first)
        queue.last = &queue.first;
    queue.size -= d->size;
    d->run(d);
    for (size_t i = 0; i < d->n_pieces; i++)
        tc_piece_let_go(&d->pieces[i]);
    d->free(d);
    atomic_fetch_sub_explicit(&queue.n, 1, memory_order_release);
}

static void run_ready(void)
{
    while (queue.first && !missing())
        run_first();
}

/* ---- going on ---- */

void tc_queue_serve(void)
{
    if (tc_queue_is_idle() || pthread_mutex_trylock(&queue.lock) != 0)
        return;
    run_ready();
    pthread_mutex_unlock(&queue.lock);
}

/* Run what can be run. The transfer for which the rest waits, held, or NULL. */
static struct tc_transfer *go_on(void)
{
    struct tc_transfer *transfer;

    pthread_mutex_lock(&queue.lock);
    run_ready();
    transfer = tc_transfer_hold(missing());
    pthread_mutex_unlock(&queue.lock);
    return transfer;
}

/* Python is asked without our lock: it may let other threads run. */
static void poll(void)
{
    struct tc_transfer *transfer;
    bool has_come = true;

    while (has_come && (transfer = go_on())) {
        has_come = tc_transfer_ask(transfer);
        tc_transfer_let_go(transfer);
    }
}

static void wait_for_first(void)
{
    struct tc_transfer *transfer = go_on();

    if (transfer)
        tc_transfer_wait(transfer);
    tc_transfer_let_go(transfer);
}

static bool is_over(void)
{
    bool over;

    pthread_mutex_lock(&queue.lock);
    over = queue.size + tc_transfers_size() > LIMIT;
    pthread_mutex_unlock(&queue.lock);
    return over;
}

static void make_room(void)
{
    if (!is_over())
        return;
    queue.n_waits++;
    while (!tc_queue_is_idle() && is_over())
        wait_for_first();
}

void tc_queue_add(struct tc_deferred *deferred)
{
    make_room();
    pthread_mutex_lock(&queue.lock);
    deferred->next = NULL;
    *queue.last = deferred;
    queue.last = &deferred->next;
    queue.size += deferred->size;
    atomic_fetch_add_explicit(&queue.n, 1, memory_order_relaxed);
    pthread_mutex_unlock(&queue.lock);
    poll();
    tc_sink_wait_for_room();
}

void tc_queue_do(struct tc_deferred *deferred)
{
    if (!tc_queue_is_idle()) {
        tc_queue_add(deferred);
        return;
    }
    deferred->run(deferred);
    deferred->free(deferred);
}

void tc_queue_drain(void)
{
    while (!tc_queue_is_idle())
        wait_for_first();
}

void tc_queue_finish(void)
{
    pthread_mutex_lock(&queue.lock);
    run_ready();
    while (queue.first) {
        for (size_t i = 0; i < queue.first->n_pieces; i++)
            tc_piece_give_up(&queue.first->pieces[i]);
        run_ready();
    }
    pthread_mutex_unlock(&queue.lock);
}

void tc_queue_abandon(void)
{
    for (struct tc_deferred *d = queue.first, *next; d; d = next) {
        next = d->next;
        d->free(d);
    }
    pthread_mutex_init(&queue.lock, NULL);
    queue.first = NULL;
    queue.last = &queue.first;
    queue.size = 0;
    atomic_store(&queue.n, 0);
    queue.n_waits = 0;
    tc_transfers_abandon();
}

/* ---- what is put into the sink ---- */

enum kind {
    PUT,
    HOLD,
    DROP_CALLS,
    RELABEL,
    RELEASE,
};

struct put {
    struct tc_deferred head;
    enum kind kind;
    int64_t step;
    size_t step_at, size;
    char text[];
};

static void run_put(struct tc_deferred *self)
{
    const struct put *p = (const struct put *)(void *)self;

    switch (p->kind) {
    case PUT:
        tc_sink_put_late(p->text, p->size, p->step_at);
        break;
    case HOLD:
        tc_sink_hold();
        break;
    case DROP_CALLS:
        tc_sink_drop_calls();
        break;
    case RELABEL:
        tc_sink_relabel(p->step);
        break;
    case RELEASE:
        tc_sink_release(p->text, p->size);
        break;
    }
}

static void free_put(struct tc_deferred *self)
{
    tc_free(self);
}

static void defer(enum kind kind, const char *text, size_t size, size_t step_at, int64_t step)
{
    struct put *p = tc_calloc(1, sizeof(*p) + size);

    p->head = (struct tc_deferred){.run = run_put, .free = free_put, .size = sizeof(*p) + size};
    p->kind = kind;
    p->step = step;
    p->step_at = step_at;
    p->size = size;
    if (size)
        memcpy(p->text, text, size);
    tc_queue_add(&p->head);
}

void tc_queue_put(const char *line, size_t size, size_t step_at)
{
    if (tc_queue_is_idle())
        tc_sink_put(line, size, step_at);
    else
        defer(PUT, line, size, step_at, 0);
}

void tc_queue_hold(void)
{
    if (tc_queue_is_idle())
        tc_sink_hold();
    else
        defer(HOLD, NULL, 0, 0, 0);
}

void tc_queue_drop_calls(void)
{
    if (tc_queue_is_idle())
        tc_sink_drop_calls();
    else
        defer(DROP_CALLS, NULL, 0, 0, 0);
}

void tc_queue_relabel(int64_t step)
{
    if (tc_queue_is_idle())
        tc_sink_relabel(step);
    else
        defer(RELABEL, NULL, 0, 0, step);
}

void tc_queue_release(const char *lines, size_t size)
{
    if (tc_queue_is_idle())
        tc_sink_release(lines, size);
    else
        defer(RELEASE, lines, size, 0, 0);
}
