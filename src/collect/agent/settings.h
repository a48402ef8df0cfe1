/*
 * settings.h - variables that are no tensors: the parameter groups of optimizers, the scale of a
 * gradient scaler
 *
 * They are plain numbers in the interpreter's memory: a look at them asks no device for anything.
 */
#ifndef TC_COLLECT_SETTINGS_H
#define TC_COLLECT_SETTINGS_H

#include "collect/agent/agent.h"

/* An optimizer, or a scaler, is at work. One that only exists is not looked at. */
void tc_settings_meet_optimizer(PyObject *optimizer);
void tc_settings_meet_scaler(PyObject *scaler);

/* Record what has changed. cause is the id of the call that ends, 0 for none. */
void tc_settings_look(struct tc_thread *thread, int64_t cause);

void tc_settings_reset(void);

#endif /* TC_COLLECT_SETTINGS_H */
