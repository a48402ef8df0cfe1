/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - variables that are no tensors: the parameter groups of optimizers, the scale of a
 * gradient scaler
 *
 * They are plain numbers in the interpreter's memory, but for tensors of one element: those that
 * lie elsewhere are asked together, and the records wait for the answers (queue.h).
 */
#ifndef TC_COLLECT_SETTINGS_H
#define TC_COLLECT_SETTINGS_H

#include "collect/agent/agent.h"

/* An optimizer was built, or is at work; a scaler is. */
void tc_settings_meet_optimizer(PyObject *optimizer, bool is_at_work);
void tc_settings_meet_scaler(PyObject *scaler);

/*
 * Record what has changed. cause is the id of the call that ends, 0 for none. Optimizers that are
 * not at work are looked at around the calls of schedulers alone: before, the script may not have
 * named them yet.
 */
void tc_settings_look(struct tc_thread *thread, int64_t cause, bool has_idle);
/* The same of one optimizer alone. */
void tc_settings_look_at(struct tc_thread *thread, int64_t cause, PyObject *optimizer);

void tc_settings_reset(void);

#endif /* TC_COLLECT_SETTINGS_H */
