/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variable.h - the state of parameters and buffers, record by record
 */
#ifndef TC_REPLAY_VARIABLE_H
#define TC_REPLAY_VARIABLE_H

#include "replay/event.h"

/* What a record did. */
struct tc_applied {
    const struct tc_variable *variable;
    bool is_new, has_other_data;
};

/* Apply a var record. Changes are added to what the call `cause` contains (NULL: outside of every
 * call). */
struct tc_applied tc_variable_apply(struct tc_process *process, struct tc_strtab *symbols,
                                    const struct tc_record *record, struct tc_call *cause);
/* Note in the call what the variables it owns are like as it begins. */
void tc_variable_survey(const struct tc_process *process, struct tc_call *call);
/* The optimizer step `call` is over: what it leaves is what the next one should find. */
void tc_variable_settle(struct tc_process *process, const struct tc_call *call);
/* The call is over: if it writes to its receiver, a variable, note that; own: the function of the
 * script around it, or NULL. */
void tc_variable_write(const struct tc_process *process, const struct tc_strtab *symbols,
                       const struct tc_call *call, const struct tc_call *own);
void tc_process_free_variables(struct tc_process *process);

#endif /* TC_REPLAY_VARIABLE_H */
