/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_setup.h - what the forms of APISequence about the set-up of a run share
 *
 * Their outcomes are sets of calls, and of marks: "known CLASS" of what the script uses, "done
 * CALL" of what a library did on its behalf.
 */
#ifndef TC_RELATION_API_SEQUENCE_SETUP_H
#define TC_RELATION_API_SEQUENCE_SETUP_H

#include "relation/relation.h"

#define TC_SETUP_MARKS 64

/* A call that returned, of the thread that trains, and not made by torch at the top of the script.
 */
bool tc_setup_is_of_script(const struct tc_strtab *symbols, const struct tc_event *event);

/* Into a sorted set of at most max. */
void tc_setup_add(tc_sym *set, size_t *n, size_t max, tc_sym sym);

/* The first word of a mark, KNOWN or DONE; TC_NO_SYM of a call. */
tc_sym tc_setup_mark(struct tc_strtab *symbols, tc_sym sym);

/* The key and each call of the outcomes as two params; key_first: in this order. */
void tc_setup_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                      bool key_first, struct tc_hypotheses *out);

/* Are the params two calls? */
bool tc_setup_are_calls(const struct tc_param *params, size_t n);

/* The calls of the outcome, without its marks; "nothing". */
void tc_setup_explain(struct tc_strtab *symbols, const struct tc_example *example,
                      struct tc_strbuf *out);

#endif /* TC_RELATION_API_SEQUENCE_SETUP_H */
