/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - what waits for answers of devices, and all that comes after it
 *
 * The trace keeps its order: while a record waits, so does whatever is put behind it. What has its
 * answers is put into the sink by the next thread that has a record, or by the sink's thread; both
 * hold the queue's lock. Nothing that is done in it needs the interpreter.
 *
 * All is called with the interpreter's lock, unless said otherwise.
 */
#ifndef TC_COLLECT_QUEUE_H
#define TC_COLLECT_QUEUE_H

#include "collect/agent/look/transfer.h"

/* Something to do once all pieces have come: the head of a larger struct. */
struct tc_deferred {
    struct tc_deferred *next;
    /* Called once, without the interpreter's lock or with it. It may put lines with
     * tc_sink_put_late(). */
    void (*run)(struct tc_deferred *self);
    void (*free)(struct tc_deferred *self);
    const struct tc_piece *pieces; /* held (tc_piece_hold) by whoever adds it */
    size_t n_pieces;
    size_t size; /* bytes of memory that it takes, roughly */
};

/* Does nothing wait? Then what is done now is done in its turn. */
bool tc_queue_is_idle(void);
/* Takes it over. Where too much waits already, waits for the devices. */
void tc_queue_add(struct tc_deferred *deferred);

/* The same of what has no pieces: it is run at once where nothing waits. */
void tc_queue_do(struct tc_deferred *deferred);

/* As those of the sink, in their turn. */
void tc_queue_put(const char *line, size_t size, size_t step_at);
void tc_queue_hold(void);
void tc_queue_drop_calls(void);
void tc_queue_relabel(int64_t step);
void tc_queue_release(const char *lines, size_t size);

/* Wait until nothing waits. */
void tc_queue_drain(void);
/* Do what can be done, without waiting. Needs no lock of the interpreter. */
void tc_queue_serve(void);
/* At the end: what has no answers by now is done without them. Needs no lock of the interpreter. */
void tc_queue_finish(void);
/* In a forked child: forget all. */
void tc_queue_abandon(void);

/* How often a thread waited as too much was in the queue. */
uint64_t tc_queue_n_waits(void);

#endif /* TC_COLLECT_QUEUE_H */
