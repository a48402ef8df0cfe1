/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.h - what a collective does once all its ranks are there
 */
#ifndef TC_PLAN_COLLECTIVE_H
#define TC_PLAN_COLLECTIVE_H

#include "base/strbuf.h"
#include "plan/evaluation.h"

/* Say how the two differ, if they do: kinds, sizes, reductions. They are of one group. */
bool tc_collective_differs(const struct tc_participant *a, const struct tc_participant *b,
                           struct tc_strbuf *how);
/* In the order of the group. Copies of a rank are there as that rank, again and again. The failure
 * says what cannot be done. */
bool tc_collective_run(const struct tc_participant *all, uint32_t n, struct tc_arena *scratch,
                       char failure[160]);
/* The group an operator is of: the program's number, or -1. */
int64_t tc_collective_group(const struct tc_plan_op *op);
/* Does it give all ranks the same, whatever their places in the group are? */
bool tc_collective_is_even(const struct tc_plan_op *op);
/* Does it multiply what ranks give, or take the largest or smallest of it? */
bool tc_collective_multiplies(const struct tc_plan_op *op);
bool tc_collective_chooses(const struct tc_plan_op *op);
/* Of a send or receive. */
int64_t tc_message_peer(const struct tc_plan_op *op);
int64_t tc_message_tag(const struct tc_plan_op *op);
const struct tc_plan_tensor *tc_message_tensor(const struct tc_plan_op *op);

#endif /* TC_PLAN_COLLECTIVE_H */
