/* SPDX-License-Identifier: Apache-2.0 */
/*
 * situation.h - the fields of one example that a precondition may use
 *
 * Never among them: ids, times, steps, names, numbers (only their classes),
 * attributes and operands of the user's own classes.
 */
#ifndef TC_RELATION_SITUATION_H
#define TC_RELATION_SITUATION_H

#include "replay/event.h"

#define TC_SITUATION_MAX 96

struct tc_situation {
    struct tc_pair pairs[TC_SITUATION_MAX]; /* further fields are left out */
    size_t n;
};

/* Of an example to which no condition could be put. */
extern const struct tc_situation tc_no_situation;

/* Replaces the value of a field that is there. */
void tc_situation_set(struct tc_situation *situation, tc_sym field, tc_sym value);
/* Into canonical order, by field; do it once all fields are set. */
void tc_situation_sort(struct tc_situation *situation);

/* The fields of a call; with_args adds its scalar operands by class. */
void tc_situation_of_call(struct tc_situation *situation, struct tc_strtab *symbols,
                          const struct tc_process *process, const struct tc_call *call,
                          bool with_args);
/* Adds the v. fields; grad is the class that decided, which need not be the newest. */
void tc_situation_add_variable(struct tc_situation *situation, const struct tc_variable *variable,
                               tc_sym grad);

/* zero, tiny, positive, negative, nan_or_inf of numbers; booleans, null and short strings as they
 * are; TC_NO_SYM for everything else. */
tc_sym tc_value_class(struct tc_strtab *symbols, const struct tc_value *value);

#endif /* TC_RELATION_SITUATION_H */
