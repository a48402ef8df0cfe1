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

#endif /* TC_RELATION_API_SEQUENCE_SETUP_H */
