/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_op.h - an operator of a plan
 */
#ifndef TC_PLAN_READ_OP_H
#define TC_PLAN_READ_OP_H

#include "plan/read_value.h"

/* Adds it to the program; a list operator as several. */
enum tc_status tc_plan_read_op(struct tc_plan_reader *r, const struct tc_value *v, uint64_t number);

#endif /* TC_PLAN_READ_OP_H */
