/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.h - lines that are kept apart until it is known what stands before them
 */
#ifndef TC_COLLECT_HELD_H
#define TC_COLLECT_HELD_H

#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct tc_held {
    struct tc_strbuf lines;
    TC_VEC(size_t) steps; /* offsets of step numbers in lines */
};

/* One line with its '\n'. step_at is the offset of the digits of its step number, 0 if it has none.
 */
void tc_held_add(struct tc_held *held, const char *line, size_t size, size_t step_at);
/* Replace the step number that the lines carry; it is not longer than theirs. */
void tc_held_relabel(struct tc_held *held, int64_t step);
/* Drop the calls and their ends, and say how many lines these were. Step numbers are set by now. */
uint64_t tc_held_drop_calls(struct tc_held *held);
/* Append the lines, which are held no longer. */
void tc_held_move(struct tc_held *held, struct tc_strbuf *to);
void tc_held_release(struct tc_held *held);

#endif /* TC_COLLECT_HELD_H */
