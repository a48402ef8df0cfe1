/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - all ranks of a job, evaluated in lock-step
 *
 * A rank runs until it needs what another one has not yet given: the result of a collective, a
 * message. Threads take ranks in turns. The values do not depend on the order. Ranks that compute
 * the same are evaluated once: what is watched is the rank that stands for them.
 */
#ifndef TC_PLAN_WORLD_H
#define TC_PLAN_WORLD_H

#include "base/strbuf.h"
#include "plan/evaluation.h"

/* TC_E_FORMAT fills fault. */
enum tc_status tc_world_run(const struct tc_plan_set *set, uint64_t seed, unsigned threads,
                            const struct tc_world_watch *watch, struct tc_world_fault *fault,
                            struct tc_error *err);

/* "aten.add" of "aten.add.Tensor": its bytes. */
int tc_plan_short_name(const struct tc_plan_op *op);
/* "train.py:51" of "train.py:51, in forward". */
struct tc_str tc_plan_line_of(const struct tc_plan_op *op);

#endif /* TC_PLAN_WORLD_H */
