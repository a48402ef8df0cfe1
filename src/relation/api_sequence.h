/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence.h - what the forms of APISequence about a step window have in common
 */
#ifndef TC_RELATION_API_SEQUENCE_H
#define TC_RELATION_API_SEQUENCE_H

#include "relation/form.h"

/* The whole situation of a window, sorted: nothing in it can excuse a missing call. */
void tc_window_situation(struct tc_situation *situation, struct tc_strtab *symbols,
                         const struct tc_event *event);

extern const struct tc_source tc_source_window;
extern const struct tc_relation tc_api_sequence_window;

/* A vec of members and marks. */
struct tc_tokens {
    tc_sym *items;
    size_t n, cap;
};

/* Is a call of that role missing only from a script that has use for it? */
bool tc_window_is_optional(enum tc_role role);
/* In an example: a model was run with gradients since the last step, in this window or in one of
 * an evaluation. */
tc_sym tc_window_asked(struct tc_strtab *symbols);
/* In an example: so was one in evaluation mode that has norms, all of them frozen. */
tc_sym tc_window_rests(struct tc_strtab *symbols);

/* Join accepted pairs into chains that speak of the same windows, and drop what a chain says. */
void tc_window_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted);

#endif /* TC_RELATION_API_SEQUENCE_H */
