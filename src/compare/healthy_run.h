/* SPDX-License-Identifier: Apache-2.0 */
/*
 * healthy_run.h - who a run was and how its loss and its learning rate went, of its excerpt
 *
 * No window is read for it: it is cheap.
 */
#ifndef TC_COMPARE_HEALTHY_RUN_H
#define TC_COMPARE_HEALTHY_RUN_H

#include "compare/loss_course.h"

struct tc_healthy_run {
    struct tc_arena arena;
    struct tc_value process; /* its process record, without what is private; a null: none */
    struct tc_loss_course loss, rate; /* no points: not reported */
};

/* Of the first main process. Borrows the excerpt; what is damaged is left out. */
void tc_healthy_run_read(struct tc_healthy_run *run, const struct tc_excerpt *excerpt);
void tc_healthy_run_release(struct tc_healthy_run *run);

#endif /* TC_COMPARE_HEALTHY_RUN_H */
