/* SPDX-License-Identifier: Apache-2.0 */
/*
 * found_steps.h - the steps in which a check found something, and what is said of them to others
 */
#ifndef TC_ONLINE_FOUND_STEPS_H
#define TC_ONLINE_FOUND_STEPS_H

#include <stdint.h>

#include "base/vec.h"
#include <traincheck/trace.h>

struct tc_engine;

struct tc_found_steps {
    TC_VEC(int64_t) items; /* known ones: of each violation the first, and its last; not sorted */
    uint64_t n_marked;     /* of those in the file */
};

/* As they are now. */
void tc_found_steps_take(struct tc_found_steps *found, const struct tc_engine *engine);
void tc_found_steps_release(struct tc_found_steps *found);

/*
 * Where a process of the folder keeps its trace short (--keep), write the steps into the folder, to
 * found_HOST_PID.steps, a line for each, so that it keeps them. Nothing is written twice.
 */
enum tc_status tc_found_steps_mark(struct tc_found_steps *found,
                                   const struct tc_trace_folder *folder, struct tc_error *err);

#endif /* TC_ONLINE_FOUND_STEPS_H */
