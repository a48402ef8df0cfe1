/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.h - what is in the storages of a rank before its first operator
 */
#ifndef TC_PLAN_FILL_H
#define TC_PLAN_FILL_H

#include "plan/program.h"

/* The seed of the evaluation with that number. */
uint64_t tc_plan_seed(unsigned number);

/* Slots of everything that init and const lines fill are allocated. */
void tc_plan_fill(const struct tc_plan_rank *rank, const struct tc_strtab *names, uint64_t seed,
                  tc_el *const *slots);

/* What a tensor that the step starts from holds, in row-major order: out has room for numel. */
void tc_plan_draw_init(const struct tc_plan_init *init, const struct tc_strtab *names,
                       uint64_t seed, tc_el *out);

/*
 * For each element of a tensor in row-major order: its number in the flattened single-device
 * tensor, or -1 where it is in no piece.
 */
void tc_plan_places(const struct tc_plan_tensor *t, const struct tc_plan_place *place,
                    int64_t *out);

#endif /* TC_PLAN_FILL_H */
