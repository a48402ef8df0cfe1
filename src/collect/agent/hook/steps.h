/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - step windows and stages (see "Steps and stages" in docs/trace-format.md)
 *
 * A window may be cut at a *candidate*: the next batch, zero_grad, a mode
 * switch or a root forward, on the main thread and outside every traced call.
 *
 * Where a batch is asked for it is not known yet to which window its call belongs: records are held
 * until it is. enum batch of steps.c:
 *
 *           a batch is asked for,
 *           no optimizer has stepped
 *     ┌──────────────────────────────▶ HELD ────────┐  the stage changes: cut before the batch
 *     │                                             │  any other cut, the next batch, the end:
 *   NONE ◀──────────────────────────────────────────┤    it belongs to the open window
 *     │                                             │
 *     └──────────────────────────▶ EXPECTED ────────┘  there was one: cut before it
 *           a batch is asked for,                      there was none, or an exit inside of the
 *           all optimizers have stepped                  loader: it gets the open number
 *
 *   NONE       records are written as they come
 *   HELD       a batch is asked for, or is the last thing that happened
 *   EXPECTED   a batch is asked for that would begin the next window; nothing else may cut it
 *
 * Sampling asks beside it whether the open window is traced, and in EXPECTED whether the next one
 * is (sampling.h). In one that is not tc_agent.is_skipped is set: nothing is recorded but calls
 * that may hold many steps. Notes in the trace tell where such steps begin and end.
 */
#ifndef TC_COLLECT_STEPS_H
#define TC_COLLECT_STEPS_H

#include "collect/agent/agent.h"

void tc_steps_candidate(struct tc_thread *thread, const char *why);
/* The same for zero_grad of an optimizer: it is the next iteration if that one has stepped already.
 */
void tc_steps_candidate_of(struct tc_thread *thread, const char *why, int64_t serial);
/* The stage changes; on the main thread a window that has begun is closed by that. */
void tc_steps_set_stage(struct tc_thread *thread, enum tc_stage stage);
/* A call was recorded that belongs to the window. */
void tc_steps_count_call(struct tc_thread *thread, const struct tc_api *api);

/* An optimizer (by serial) was built, is about to step, has stepped. */
void tc_steps_optimizer_born(int64_t serial);
void tc_steps_before_step(struct tc_thread *thread, int64_t serial);
void tc_steps_after_step(const struct tc_thread *thread, int64_t serial);

/*
 * The next batch is asked for. Its call belongs to the window that it begins: records are held
 * until it is known whether there was a batch and - where no optimizer has stepped - whether the
 * stage changes next; what cuts the window is then put before the call. Returns whether they are
 * held.
 */
bool tc_steps_data_begin(struct tc_thread *thread);
void tc_steps_data_end(bool got_batch);

/* A root forward begins. Is it time to read all variables, as no optimizer has stepped yet? Where
 * none ever does, no window is cut, at which that is done. It is, each time that twice as many
 * forwards have begun. */
bool tc_steps_forward_begin(const struct tc_thread *thread);

/* Close the last window. */
void tc_steps_finish(struct tc_thread *thread);
/* In a forked child. */
void tc_steps_reset(void);

#endif /* TC_COLLECT_STEPS_H */
