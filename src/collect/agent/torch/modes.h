/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modes.h - the state of torch in which a call is made, of this thread
 *
 * torch's C++ is asked, by functions that its libraries show, and Python's bindings where they show
 * none.
 */
#ifndef TC_COLLECT_MODES_H
#define TC_COLLECT_MODES_H

#include "collect/agent/agent.h"

/* Once, when torch is imported; leaves no Python error. */
void tc_modes_find(PyObject *torch);

bool tc_grad_enabled(void);
bool tc_inference_enabled(void);
/* May any kind of device be in autocast? */
bool tc_autocast_any(void);
bool tc_function_mode_any(void);

#endif /* TC_COLLECT_MODES_H */
