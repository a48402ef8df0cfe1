/*
 * api_sequence.h - what the forms of APISequence about a step window have in common
 */
#ifndef TC_RELATION_API_SEQUENCE_H
#define TC_RELATION_API_SEQUENCE_H

#include "relation/form.h"

/* The whole situation of a window, sorted: nothing in it can excuse a missing call. */
void tc_window_situation(struct tc_situation *situation, struct tc_strtab *symbols,
                         const struct tc_event *event);

extern const struct tc_relation tc_api_sequence_window;

/* Join accepted pairs into chains that speak of the same windows, and drop what a chain says. */
void tc_window_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted);

#endif /* TC_RELATION_API_SEQUENCE_H */
