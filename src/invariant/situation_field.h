/* SPDX-License-Identifier: Apache-2.0 */
/*
 * situation_field.h - what is known about the fields of a situation
 *
 * Fields of control flow come before fields of state: where both would explain
 * the same examples, a precondition made of state could swallow the very bug.
 */
#ifndef TC_INVARIANT_SITUATION_FIELD_H
#define TC_INVARIANT_SITUATION_FIELD_H

#include <stdbool.h>

/* Place in the order of preference; smaller comes first. */
unsigned tc_field_rank(const char *field);

/*
 * May "is not" be said of this value of the field? Only where the field has few values that mean
 * the same in every pipeline: booleans, null, stages, classes of numbers and gradients,
 * all/some/none. Names of classes, APIs, dtypes and free text are open: what was not met may still
 * be fine. value is JSON text.
 */
bool tc_field_is_closed(const char *field, const char *value);

/* Is an unseen value of this field a context never learned, in which nothing is judged? */
bool tc_field_is_context(const char *field);

/* ... and is a context even where the field itself was never met (framework attributes)? */
bool tc_field_is_strict_context(const char *field);

/* Is it there for pruning only, and never part of a precondition? */
bool tc_field_is_hidden(const char *field);

/* Does the field say what a run uses? */
bool tc_field_is_use(const char *field);

/* Does the field say in which mode the call was made? */
bool tc_field_is_mode(const char *field);

#endif /* TC_INVARIANT_SITUATION_FIELD_H */
