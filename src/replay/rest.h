/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.h - variables that are out of use
 */
#ifndef TC_REPLAY_REST_H
#define TC_REPLAY_REST_H

#include "replay/event.h"

/* So many windows without use, and a variable rests. A phase of training may pause for less. */
#define TC_REST_AFTER 1024

/* Whether it rests or not; NULL: no record has told of it. */
struct tc_variable *tc_rest_find(const struct tc_process *process, int64_t serial);

/* A record tells of the variable, or an optimizer that owns it has made a step. */
void tc_rest_use(struct tc_process *process, struct tc_variable *v);
/* The model of that serial is called. */
void tc_rest_called(struct tc_process *process, int64_t root);
/* The run is over: what is said of it as a whole is said of all variables. */
void tc_rest_end(struct tc_process *process);
/* A window is over. */
void tc_rest_look(struct tc_process *process);

#endif /* TC_REPLAY_REST_H */
