/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_names.h - functions and classes that the script defines while it runs
 */
#ifndef TC_COLLECT_OWN_NAMES_H
#define TC_COLLECT_OWN_NAMES_H

#include "collect/agent/agent.h"

/* Whenever this dict has another size the policy is told, by look_at_own(). */
void tc_own_names_watch(PyObject *dict);
/* Before a traced call: has it grown? */
void tc_own_names_look(struct tc_thread *thread);
/* Tell the policy in any case. False where it is not the time for it. */
bool tc_own_names_look_now(void);
/* An optimizer is about to step: the first time the policy is told, by training_begins(). */
void tc_own_names_train(struct tc_thread *thread);

#endif /* TC_COLLECT_OWN_NAMES_H */
