/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_state.h - a job while it is evaluated; shared by the files that evaluate it
 */
#ifndef TC_PLAN_WORLD_STATE_H
#define TC_PLAN_WORLD_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "plan/collective.h"
#include "plan/degree.h"

enum tc_world_state {
    TC_WORLD_NEW,
    TC_WORLD_RUNNING,
    TC_WORLD_WAITING, /* for a slot that others fill */
    TC_WORLD_READY,
    TC_WORLD_DONE
};

/* What a rank has begun and others must finish: the slots of these operators are busy. */
struct tc_world_rank {
    struct tc_run run;
    enum tc_world_state state;
    atomic_uint n_busy;
    uint8_t *busy; /* for each slot, how many wait for it */
    uint32_t *met; /* for each group of the program: collectives so far */
    uint32_t next_alloc, next_free;
    uint32_t wanted; /* slot it waits for */
};

/* Ranks on their way to one collective. */
struct tc_gathering {
    uint32_t group, arrived;
    struct tc_participant *all; /* in the order of the group; run is NULL before it came */
    uint32_t number;
};

/* A message on its way, or a receive that was posted. */
struct tc_message {
    struct tc_message *next;
    uint32_t rank, op;
    tc_el *data; /* of a send */
    struct tc_degrees degrees;
    int64_t n;
};

struct tc_channel {
    uint64_t key;
    struct tc_message *sent, *posted; /* oldest first; only one of the two has some */
};

struct tc_world {
    const struct tc_plan_set *set;
    const struct tc_world_watch *watch;
    uint64_t seed;
    struct tc_world_rank *ranks;
    uint32_t n_started, n_done, n_running;
    TC_VEC(uint32_t) ready;
    struct tc_map gatherings, channels;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool failed;
    enum tc_status status;
    struct tc_world_fault *fault;
    struct tc_error *err;
};

/* "aten.add at train.py:51" */
void tc_world_add_place(struct tc_strbuf *out, const struct tc_plan_op *op);

/* ---- all of these under the lock ----------------------------------------------------------- */

/* The first failure counts. op may be NULL. */
void tc_world_fail(struct tc_world *w, enum tc_world_fault_kind kind, const struct tc_plan_op *op,
                   uint32_t rank, const char *text);
/* The slots of an operator are busy (1), or no longer (-1). */
void tc_world_mark(struct tc_world_rank *rank, const struct tc_plan_op *op, int by);
/* Let a rank go on if what it waits for is there. */
void tc_world_wake(struct tc_world *w, struct tc_world_rank *rank);

/* A rank comes to a collective; the last one does the work, without the lock. */
void tc_gathering_arrive(struct tc_world *w, struct tc_world_rank *rank,
                         const struct tc_plan_op *op, struct tc_arena *scratch);
/* A rank sends a message, or waits for one. */
void tc_channel_post(struct tc_world *w, struct tc_world_rank *rank, const struct tc_plan_op *op);
/* A message was sent and never received. */
bool tc_channel_has_unread(const struct tc_world *w);
/* Every rank waits: say for what. */
void tc_world_tell_deadlock(struct tc_world *w);

void tc_gatherings_release(struct tc_world *w);
void tc_channels_release(struct tc_world *w);

static inline const struct tc_plan_op *tc_world_op(const struct tc_world_rank *rank, uint32_t pc)
{
    return &rank->run.plan->program->ops.items[pc];
}

#endif /* TC_PLAN_WORLD_STATE_H */
