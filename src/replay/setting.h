/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting.h - the state of parameter groups and scalers, record by record
 */
#ifndef TC_REPLAY_SETTING_H
#define TC_REPLAY_SETTING_H

#include "replay/event.h"

/* Is that a kind of them? */
bool tc_setting_is_kind(struct tc_str kind);
/* Is the var record about one? Its kind says so the first time, its serial from then on. */
bool tc_setting_is(const struct tc_process *process, const struct tc_record *record);
/* Apply it; changes are added to what the call `cause` contains (NULL: outside of every call). */
void tc_setting_apply(struct tc_process *process, struct tc_strtab *symbols,
                      const struct tc_record *record, struct tc_call *cause);
/* What a call contains in which settings of that kind changed: of groups at work, of idle ones. */
tc_atom tc_setting_atom(struct tc_strtab *symbols, tc_sym kind, bool is_idle);
/* An optimizer steps with what is set. */
void tc_setting_use(struct tc_process *process);
void tc_process_free_settings(struct tc_process *process);

#endif /* TC_REPLAY_SETTING_H */
