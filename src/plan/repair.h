/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repair.h - the change of one line that would make a wrong job right
 */
#ifndef TC_PLAN_REPAIR_H
#define TC_PLAN_REPAIR_H

#include "plan/judge.h"

/*
 * Changes are tried one after the other: a sum over an axis after the operators of a line, a
 * factor, an operator left out, another group. The first that makes every wrong result right, and
 * none wrong, says where the fault is. A finding about that line says so then; else one is added
 * before all others. laws: by which the job is evaluated.
 */
enum tc_status tc_plan_find_repair(struct judge *j, enum tc_laws_mode laws, struct tc_error *err);

#endif /* TC_PLAN_REPAIR_H */
